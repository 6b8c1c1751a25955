"""The delegate for search hits: session and time above, two lines of the snippet below."""

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRect, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem
from typing_extensions import override

from hermes_desktop.state.search.search_records import SearchHit
from hermes_desktop.ui.sessions.hit_model import (
    HIT_ROLE,
    TIME_ROLE,
    WORDS_ROLE,
    HitSnippet,
    hit_title,
)
from hermes_desktop.ui.sessions.session_delegate import geometry, paint_ground
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, Palette, Theme, mix
from hermes_desktop.ui.words.source_names import source_icon

Index = QModelIndex | QPersistentModelIndex
_LINES = 2
_ICON = 20
_GAP = 2


class HitDelegate(QStyledItemDelegate):
    """A delegate that paints hits in the colors of the theme.

    Attributes:
        stale: Whether rows are grayed, because results for another text are pending.
    """

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.stale = False

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(200, row_height(option.font))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        hit, words = index.data(HIT_ROLE), index.data(WORDS_ROLE)
        if not isinstance(hit, SearchHit) or not isinstance(words, HitSnippet):
            return
        palette = self._theme.palette
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_ground(painter, option, palette)
        quiet = palette.disabled_text if self.stale else palette.secondary_text
        text = palette.disabled_text if self.stale else palette.text
        head = QRect(option.rect)
        line = QFontMetrics(option.font).height()
        head.setHeight(2 * line + 2 + 2 * SPACE_8)
        where = geometry(head, option.font, str(index.data(TIME_ROLE)), option.direction)
        ratio = painter.device().devicePixelRatio()
        painter.drawPixmap(where.icon, pixmap(source_icon(hit.source), quiet, _ICON, float(ratio)))
        self._paint_head(painter, option, hit, where.title, text)
        painter.setPen(QColor(quiet))
        edge = Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(where.time, int(edge), str(index.data(TIME_ROLE)))
        width = option.rect.right() - SPACE_12 - where.title.left()
        place = QRect(where.title.left(), where.title.bottom() + _GAP, width, _LINES * line)
        if option.direction == Qt.LayoutDirection.RightToLeft:
            left = option.rect.left() + SPACE_12
            place = QRect(left, place.top(), where.title.right() - left, place.height())
        colours = (quiet, text if not self.stale else quiet)
        _paint_words(painter, place, option.font, words, colours, palette)
        painter.restore()

    @staticmethod
    def _paint_head(
        painter: QPainter, option: QStyleOptionViewItem, hit: SearchHit, place: QRect, colour: str
    ) -> None:
        font = QFont(option.font)
        if hit.title:
            font.setWeight(QFont.Weight.DemiBold)
        else:
            font.setItalic(True)
        painter.setFont(font)
        painter.setPen(QColor(colour))
        title = painter.fontMetrics().elidedText(
            hit_title(hit), Qt.TextElideMode.ElideRight, place.width()
        )
        edge = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(place, int(edge), title)
        painter.setFont(option.font)


def row_height(font: QFont) -> int:
    """Return the height of a row in pixels: three lines and padding."""
    return (1 + _LINES) * QFontMetrics(font).height() + _GAP + 2 * SPACE_8


def _paint_words(
    painter: QPainter,
    place: QRect,
    font: QFont,
    words: HitSnippet,
    colours: tuple[str, str],
    palette: Palette,
) -> None:
    quiet, loud = colours
    text = words.text
    formats = _formats(words, len(text), loud, palette)
    layout, end = _laid_out(text, font, formats, place.width())
    if end < len(text):
        while end > 0:  # as much as two lines hold, with an ellipsis for the rest
            text = text[:end].rstrip() + "…"
            layout, reached = _laid_out(text, font, formats, place.width())
            if reached >= len(text):
                break
            end = min(end, len(text)) - 1
    painter.setPen(QColor(quiet))
    layout.draw(painter, QPointF(place.topLeft()))


def _laid_out(
    text: str, font: QFont, formats: list[QTextLayout.FormatRange], width: int
) -> tuple[QTextLayout, int]:
    """Lay out two lines, and return the layout and the end of the second line in the text."""
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout = QTextLayout(text, font)
    layout.setTextOption(option)
    layout.setFormats([each for each in formats if each.start + each.length <= len(text)])
    layout.beginLayout()
    height = QFontMetrics(font).height()
    end = 0
    for number in range(_LINES):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(width)
        line.setPosition(QPointF(0, number * height))
        end = line.textStart() + line.textLength()
    layout.endLayout()
    return layout, end


def _formats(
    words: HitSnippet, length: int, loud: str, palette: Palette
) -> list[QTextLayout.FormatRange]:
    formats = []
    for start, end in words.marks:
        if start >= length:
            break
        each = QTextLayout.FormatRange()
        each.start = start
        each.length = min(end, length) - start
        shape = QTextCharFormat()
        shape.setForeground(QColor(loud))
        shape.setFontWeight(QFont.Weight.DemiBold)
        shape.setBackground(QColor(mix(palette.accent, palette.base, 0.22)))
        each.format = shape
        formats.append(each)
    return formats
