"""The table of platforms: the appearance of rows, columns and header."""

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.ui.gateway.platform_model import DETAIL, HEALTH_ROLE, HEARD, NAME, NEXT, STATE
from hermes_desktop.ui.widgets.quiet_table import ARROW, QuietHeader
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.row_painting import draw_text
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.state_shapes import DOT, paint_shape
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, Theme
from hermes_desktop.ui.words.platform_words import state_shape
from hermes_desktop.ui.words.source_names import source_icon

Index = QModelIndex | QPersistentModelIndex
_ROW = 32
_ICON = 18
_LEAST_DETAIL = 120
_LONGEST_AGE = "59 min ago"
"""Columns of ages keep the width of this text, so that they do not move with every second."""


class PlatformTable(QTableView):
    """Rows of fixed height, one selected.

    Signals:
        menu_wanted: Carries the global position of a menu for the selected row.
        confirmed: Enter was pressed, or a row was double-clicked.
    """

    menu_wanted = Signal(object)
    confirmed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Platforms"))
        self.setHorizontalHeader(QuietHeader(theme, self))
        self.horizontalHeader().setMinimumSectionSize(48)
        self.horizontalHeader().setStretchLastSection(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setMouseTracking(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setItemDelegate(_Delegate(theme, self))
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._ask_for_menu)
        self.doubleClicked.connect(lambda _: self.confirmed.emit())
        make_slim(self, theme)

    def set_up_columns(self) -> None:
        """Set up sorting; call once the model is set."""
        self.setSortingEnabled(True)
        self.sortByColumn(NAME, Qt.SortOrder.AscendingOrder)

    def fit_rows(self, rows: int) -> None:
        """Set the height to a number of rows."""
        height = rows * _ROW + self.horizontalHeader().sizeHint().height() + 2
        if height != self.height():
            self.setFixedHeight(height)

    def fit_columns(self) -> None:
        """Fit each column to its text; hide columns without text, and details that do not fit."""
        left = self.viewport().width()
        for column in (NAME, STATE, HEARD, NEXT):
            width = self._wanted_width(column)
            self.setColumnHidden(column, not width)
            if width and width != self.columnWidth(column):
                self.setColumnWidth(column, width)
            left -= width
        wordless = not self._wanted_width(DETAIL)
        self.setColumnHidden(DETAIL, wordless or left < _LEAST_DETAIL)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.confirmed.emit()
        else:
            super().keyPressEvent(event)

    def _wanted_width(self, column: int) -> int:
        """Return the width of the longest text and the icon before it; 0 without any text."""
        model = self.model()
        words = [str(model.index(row, column).data() or "") for row in range(model.rowCount())]
        if column > STATE and not any(words):
            return 0
        if column in {HEARD, NEXT}:
            words.append(_LONGEST_AGE)
        metrics = self.fontMetrics()
        header = str(model.headerData(column, Qt.Orientation.Horizontal) or "")
        widest = max((metrics.horizontalAdvance(each) for each in words), default=0)
        return max(
            widest + _sign_width(column) + SPACE_8 + SPACE_12,
            metrics.horizontalAdvance(header) + ARROW + SPACE_8 + SPACE_12,
        )

    def _ask_for_menu(self, place: QPoint) -> None:
        index = self.indexAt(place)
        if index.isValid():
            self.setCurrentIndex(index)
        self.menu_wanted.emit(self.viewport().mapToGlobal(place))


class _Delegate(QStyledItemDelegate):
    """Paints an icon before the name, the shape before the state, and a subtle selection."""

    def __init__(self, theme: Theme, parent: QTableView) -> None:
        super().__init__(parent)
        self._theme = theme

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, _ROW)

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        palette = self._theme.palette
        state: QStyle.StateFlag = option.state
        selected = bool(state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if selected:
            painter.fillRect(option.rect, QColor(palette.selection))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(option.rect, QColor(palette.hover))
        if index.column() == NAME and selected and option.widget.hasFocus():
            bar = _at(option, QRect(0, 6, 3, option.rect.height() - 12))
            painter.fillRect(bar, QColor(palette.accent))
        self._paint_sign(painter, option, index)
        left = SPACE_8 + _sign_width(index.column())
        place = _at(option, QRect(left, 0, option.rect.width() - left - SPACE_4, _ROW))
        quiet = index.column() > STATE
        painter.setPen(QColor(palette.secondary_text if quiet else palette.text))
        painter.setFont(option.font)
        draw_text(painter, place, str(index.data() or ""), option.direction)
        painter.restore()

    def _paint_sign(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        health = index.data(HEALTH_ROLE)
        palette = self._theme.palette
        if index.column() == NAME:
            top = (_ROW - _ICON) // 2
            ratio = float(painter.device().devicePixelRatioF())
            drawing = pixmap(source_icon(health.name), palette.secondary_text, _ICON, ratio)
            painter.drawPixmap(_at(option, QRect(SPACE_8, top, _ICON, _ICON)), drawing)
        elif index.column() == STATE:
            dot = _at(option, QRect(SPACE_8, (_ROW - DOT) // 2, DOT, DOT))
            paint_shape(painter, QRectF(dot), state_shape(health), palette)


def _sign_width(column: int) -> int:
    """Return the width of the icon or shape before the text."""
    return {NAME: _ICON + SPACE_8, STATE: DOT + SPACE_8}.get(column, 0)


def _at(option: QStyleOptionViewItem, place: QRect) -> QRect:
    """Return the position of a part of a cell, measured from the leading edge."""
    return QStyle.visualRect(option.direction, option.rect, place.translated(option.rect.topLeft()))
