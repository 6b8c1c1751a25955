"""The delegate of the session list: icon, title, time above; pin, preview and dot below."""

from dataclasses import dataclass, fields

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.sessions.list_entries import HeadingEntry, SessionEntry
from hermes_desktop.ui.sessions.session_list_model import (
    DRAFT_ROLE,
    ENTRY_ROLE,
    RUNNING_ROLE,
    TIME_ROLE,
    WAITING_ROLE,
    line_of,
)
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.theme import (
    RADIUS_BUTTON,
    SPACE_4,
    SPACE_8,
    SPACE_12,
    Palette,
    Theme,
)
from hermes_desktop.ui.words.source_names import source_icon, source_name
from hermes_desktop.ui.words.visible_text import is_right_to_left

Index = QModelIndex | QPersistentModelIndex
_LEAST_ROW = 56
_LEAST_HEADING = 32
_ICON = 20
_DOT = 8
_GAP = 2
_PIN = 14
_TITLE_MAX = 200
_UNTITLED = "Untitled session"


@dataclass(frozen=True, slots=True)
class RowGeometry:
    """The rectangles of a row's parts, in the coordinates of the view."""

    icon: QRect
    title: QRect
    time: QRect
    second: QRect
    dot: QRect
    pin: QRect


class SessionDelegate(QStyledItemDelegate):
    """A delegate that paints headings and rows in the theme's colors and edits titles in place.

    Attributes:
        stale: Whether rows are grayed, because newer ones are pending.
    """

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.stale = False

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        heading = isinstance(index.data(ENTRY_ROLE), HeadingEntry)
        return QSize(200, heading_height(option.font) if heading else row_height(option.font))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry = index.data(ENTRY_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(entry, HeadingEntry):
            self._paint_heading(painter, option, entry.text)
        elif isinstance(entry, SessionEntry):
            paint_ground(painter, option, self._theme.palette)
            self._paint_session(painter, option, index, entry.summary)
        painter.restore()

    @override
    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setPalette(QApplication.palette())
        editor.setMaxLength(_TITLE_MAX)
        editor.setAccessibleName(self.tr("Session title"))
        return editor

    @override
    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        rect = geometry(option.rect, option.font, "", option.direction)
        height = editor.sizeHint().height()
        top = rect.title.center().y() - height // 2
        editor.setGeometry(rect.title.left() - SPACE_4, top, rect.title.width() + SPACE_4, height)

    def _paint_heading(self, painter: QPainter, option: QStyleOptionViewItem, text: str) -> None:
        font = QFont(option.font)
        font.setWeight(QFont.Weight.DemiBold)
        font.setPointSizeF(font.pointSizeF() * 0.9)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.palette.secondary_text))
        rect: QRect = option.rect.adjusted(SPACE_12, 0, -SPACE_12, -SPACE_4)
        painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, text)

    def _paint_session(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: Index,
        summary: SessionSummary,
    ) -> None:
        palette = self._theme.palette
        disabled = self.stale
        time_text = str(index.data(TIME_ROLE))
        base_font = QFont(option.font)
        where = geometry(option.rect, base_font, time_text, option.direction)
        ratio = painter.device().devicePixelRatio()
        quiet = palette.disabled_text if disabled else palette.secondary_text
        painter.drawPixmap(
            where.icon, pixmap(source_icon(summary.source), quiet, _ICON, float(ratio))
        )
        if summary.pinned:
            mark = where.pin.topLeft()
            painter.drawPixmap(mark, pixmap("pin", quiet, _PIN, float(ratio)))
        painter.setFont(title_font(base_font, summary))
        text = palette.disabled_text if disabled else palette.text
        leading = _edge(option.direction, leading=True)
        _draw_line(painter, where.title, title_text(summary), text, leading)
        painter.setFont(base_font)
        painter.setPen(QColor(quiet))
        painter.drawText(where.time, _edge(option.direction, leading=False), time_text)
        if index.data(WAITING_ROLE):
            words = self.tr("Waiting for your answer")
            _draw_line(painter, where.second, words, palette.warning, leading)
            _paint_ring(painter, where.dot, palette)
            return
        draft = index.data(DRAFT_ROLE)
        if draft:
            words = self.tr("Draft: {}").format(draft)
            _draw_line(painter, where.second, words, palette.accent, leading)
        else:
            _draw_line(painter, where.second, second_line(summary), quiet, leading)
        if index.data(RUNNING_ROLE):
            _paint_dot(painter, where.dot, palette)


def row_height(font: QFont) -> int:
    """Return the height of a session's row in pixels: two lines and padding."""
    return max(_LEAST_ROW, 2 * QFontMetrics(font).height() + _GAP + 2 * SPACE_8)


def heading_height(font: QFont) -> int:
    """Return the height of a heading in pixels."""
    return max(_LEAST_HEADING, QFontMetrics(font).height() + SPACE_12)


def paint_ground(painter: QPainter, option: QStyleOptionViewItem, palette: Palette) -> None:
    """Paint a row's background if the row is selected or under the pointer."""
    state: QStyle.StateFlag = option.state
    selected = bool(state & QStyle.StateFlag.State_Selected)
    if not selected and not state & QStyle.StateFlag.State_MouseOver:
        return
    rect: QRect = option.rect.adjusted(SPACE_4, 1, -SPACE_4, -1)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(palette.selection if selected else palette.hover))
    painter.drawRoundedRect(rect, RADIUS_BUTTON, RADIUS_BUTTON)
    if selected and state & QStyle.StateFlag.State_HasFocus:
        painter.setBrush(QColor(palette.accent))
        bar = QRect(rect.left(), rect.top() + SPACE_12, 3, rect.height() - 2 * SPACE_12)
        bar = QStyle.visualRect(option.direction, rect, bar)
        painter.drawRoundedRect(bar, 1.5, 1.5)


def geometry(
    rect: QRect, font: QFont, time_text: str, direction: Qt.LayoutDirection
) -> RowGeometry:
    """Divide a row into its parts.

    Args:
        rect: The row.
        font: The font of its text.
        time_text: The text after the title; its width is subtracted from the title's.
        direction: The direction of the program's language; the row is mirrored for right to left.
    """
    metrics = QFontMetrics(font)
    line = metrics.height()
    left = rect.left() + SPACE_12
    right = rect.right() - SPACE_12
    top = rect.top() + (rect.height() - 2 * line - _GAP) // 2
    text_left = left + _ICON + SPACE_8 + 2
    time_width = metrics.horizontalAdvance(time_text) + 2 if time_text else 0
    title_right = right - (time_width + SPACE_8 if time_width else 0)
    second_top = top + line + _GAP
    dot_left = right - _DOT
    parts = RowGeometry(
        icon=QRect(left, top + (line - _ICON) // 2, _ICON, _ICON),
        title=QRect(text_left, top, max(0, title_right - text_left), line),
        time=QRect(right - time_width, top, time_width, line),
        second=QRect(text_left, second_top, max(0, dot_left - SPACE_8 - text_left), line),
        dot=QRect(dot_left, second_top + (line - _DOT) // 2, _DOT, _DOT),
        pin=QRect(left + (_ICON - _PIN) // 2, second_top + (line - _PIN) // 2, _PIN, _PIN),
    )
    return parts if direction == Qt.LayoutDirection.LeftToRight else _mirrored(parts, rect)


def _mirrored(parts: RowGeometry, rect: QRect) -> RowGeometry:
    def flip(part: QRect) -> QRect:
        return QStyle.visualRect(Qt.LayoutDirection.RightToLeft, rect, part)

    return RowGeometry(*(flip(getattr(parts, each.name)) for each in fields(RowGeometry)))


def title_text(summary: SessionSummary) -> str:
    """Return the first line: title, else preview, else a phrase for neither."""
    return line_of(summary.title or summary.preview) or _UNTITLED


def second_line(summary: SessionSummary) -> str:
    """Return the second line: the preview, unless that is the title already."""
    if summary.title and line_of(summary.preview):
        return line_of(summary.preview)
    place = summary.display_name or source_name(summary.source)
    if summary.is_empty:
        return f"{line_of(place)} · no messages"
    count = summary.message_count
    return f"{line_of(place)} · {'1 message' if count == 1 else f'{count} messages'}"


def title_font(base: QFont, summary: SessionSummary) -> QFont:
    """Return semibold for a title, italics where the preview replaces it."""
    font = QFont(base)
    if summary.title:
        font.setWeight(QFont.Weight.DemiBold)
    else:
        font.setItalic(True)
    return font


def _edge(direction: Qt.LayoutDirection, *, leading: bool) -> int:
    """Return the edge by the program's language, whatever the language of the text."""
    left = (direction == Qt.LayoutDirection.LeftToRight) == leading
    edge = Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag.AlignRight
    return int(edge | Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignVCenter)


def _draw_line(painter: QPainter, rect: QRect, text: str, colour: str, edge: int) -> None:
    """Draw an elided line at the leading edge, in the direction of its first strong letter."""
    painter.setPen(QColor(colour))
    before = painter.layoutDirection()
    rtl = is_right_to_left(text)
    painter.setLayoutDirection(
        Qt.LayoutDirection.RightToLeft if rtl else Qt.LayoutDirection.LeftToRight
    )
    metrics = painter.fontMetrics()
    elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
    painter.drawText(rect, edge | int(Qt.TextFlag.TextSingleLine), elided)
    painter.setLayoutDirection(before)


def _paint_dot(painter: QPainter, rect: QRect, palette: Palette) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(palette.accent))
    painter.drawEllipse(rect)


def _paint_ring(painter: QPainter, rect: QRect, palette: Palette) -> None:
    painter.setPen(QPen(QColor(palette.warning), 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawEllipse(rect)
