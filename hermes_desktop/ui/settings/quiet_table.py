"""A table to look things up in: quiet rows, sorted by a click on a heading, walked by keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.ui.gateway.leading_text import draw_text
from hermes_desktop.ui.resource_files import pixmap
from hermes_desktop.ui.scroll_bars import make_slim
from hermes_desktop.ui.theme import SPACE_4, SPACE_8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QResizeEvent

    from hermes_desktop.ui.theme import Theme

_ROW = 32
_ARROW = 14
_MOST_ROWS = 12
_SORT = int(Qt.ItemDataRole.UserRole)
_OF_ROW = _SORT + 1
_ENTER = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a row of one column.

    Attributes:
        text: One line.
        order: What it is sorted by; None for the text.
        more: Shown while the pointer rests on it.
    """

    text: str
    order: Any = None
    more: str = ""


class QuietTable(QTableView):
    """Read only; one row is chosen at a time.

    Args:
        name: For who hears it.
        columns: Headings; the second takes the room that is left.
        theme: Colours.

    Signals:
        chosen: What belongs to the row that is chosen now; None for no row.
        entered: The same, of the row on which Enter was pressed or that was clicked twice.
    """

    chosen = Signal(object)
    entered = Signal(object)

    def __init__(self, name: str, columns: Sequence[str], theme: Theme) -> None:
        super().__init__()
        self._items = QStandardItemModel(0, len(columns), self)
        self._items.setHorizontalHeaderLabels(list(columns))
        self._items.setSortRole(_SORT)
        self.setAccessibleName(name)
        self.setHorizontalHeader(_Header(theme, self))
        self.setModel(self._items)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setItemDelegate(_Delegate(theme, self))
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW)
        self.setSortingEnabled(True)
        make_slim(self, theme)
        self.selectionModel().currentRowChanged.connect(self._tell)
        self.doubleClicked.connect(lambda index: self.entered.emit(_of_row(index)))
        theme.changed.connect(self.viewport().update)

    @property
    def current(self) -> Any:
        """What belongs to the chosen row, None for none."""
        return _of_row(self.currentIndex())

    def sort_first_by(self, column: int, *, ascending: bool = True) -> None:
        """How it is sorted until a person clicks a heading."""
        order = Qt.SortOrder.AscendingOrder if ascending else Qt.SortOrder.DescendingOrder
        self.sortByColumn(column, order)

    def show_rows(self, rows: Sequence[tuple[object, Sequence[Cell]]]) -> None:
        """Show rows, each with what belongs to it; the chosen one stays where it is still there."""
        before = self.current
        self.setSortingEnabled(False)
        self._items.removeRows(0, self._items.rowCount())
        for thing, cells in rows:
            self._items.appendRow([_item(thing, cell) for cell in cells])
        self.setSortingEnabled(True)
        for row in range(self._items.rowCount()):
            if self._items.item(row).data(_OF_ROW) == before:
                self.selectRow(row)
        self.fit()

    def fit(self) -> None:
        """Be as high as the rows, and give each column what its words need."""
        rows = min(max(1, self._items.rowCount()), _MOST_ROWS)
        self.setFixedHeight(rows * _ROW + self.horizontalHeader().sizeHint().height() + 2)
        count, width = self._items.columnCount(), self.viewport().width()
        wanted = [self._wanted(column) for column in range(count)]
        rest = wanted[0] + sum(wanted[2:])
        wanted[0] = min(wanted[0], max(120, width // 2))
        for column in range(count):
            self.setColumnWidth(column, wanted[column])
        if count > 1:
            self.setColumnWidth(1, max(60, width - min(rest, wanted[0] + sum(wanted[2:]))))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER and self.currentIndex().isValid():
            self.entered.emit(self.current)
        else:
            super().keyPressEvent(event)

    def _wanted(self, column: int) -> int:
        metrics = self.fontMetrics()
        words = [self._items.item(row, column).text() for row in range(self._items.rowCount())]
        heading = self._items.horizontalHeaderItem(column).text()
        widest = max((metrics.horizontalAdvance(each) for each in words), default=0)
        return max(widest, metrics.horizontalAdvance(heading) + _ARROW) + 3 * SPACE_8

    def _tell(self, current: QModelIndex, _: QModelIndex) -> None:
        self.chosen.emit(_of_row(current))


class _Header(QHeaderView):
    """Quiet words above a hairline; the sorted column has an arrow."""

    def __init__(self, theme: Theme, parent: QTableView) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        theme.changed.connect(self.viewport().update)

    @override
    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        palette, direction = self._theme.palette, self.layoutDirection()
        painter.save()
        painter.fillRect(rect, QColor(palette.base))
        painter.setPen(QColor(palette.separator))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.setPen(QColor(palette.secondary_text))
        words = str(self.model().headerData(logicalIndex, Qt.Orientation.Horizontal) or "")
        draw_text(painter, _inside(rect, direction), words, direction)
        if logicalIndex == self.sortIndicatorSection():
            up = self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
            left = SPACE_8 + painter.fontMetrics().horizontalAdvance(words) + 2
            top = (rect.height() - _ARROW) // 2
            place = QRect(rect.left() + left, rect.top() + top, _ARROW, _ARROW)
            name = "chevron-up" if up else "chevron-down"
            ratio = float(painter.device().devicePixelRatioF())
            drawing = pixmap(name, palette.secondary_text, _ARROW, ratio)
            painter.drawPixmap(QStyle.visualRect(direction, rect, place), drawing)
        painter.restore()


class _Delegate(QStyledItemDelegate):
    """The first column in the colour of text, the others quieter."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @override
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(100, _ROW)

    @override
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        palette = self._theme.palette
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        if selected:
            painter.fillRect(option.rect, QColor(palette.selection))
        if not index.column() and selected and option.widget.hasFocus():
            bar = QRect(option.rect.left(), option.rect.top() + 6, 3, _ROW - 12)
            painter.fillRect(
                QStyle.visualRect(option.direction, option.rect, bar), QColor(palette.accent)
            )
        painter.setPen(QColor(palette.secondary_text if index.column() else palette.text))
        painter.setFont(option.font)
        place = _inside(option.rect, option.direction)
        draw_text(painter, place, str(index.data() or ""), option.direction)
        painter.restore()


def _item(thing: object, cell: Cell) -> QStandardItem:
    item = QStandardItem(cell.text)
    item.setEditable(False)
    item.setData(cell.text.casefold() if cell.order is None else cell.order, _SORT)
    item.setData(thing, _OF_ROW)
    item.setToolTip(cell.more or cell.text)
    return item


def _of_row(index: QModelIndex) -> Any:
    return index.siblingAtColumn(0).data(_OF_ROW) if index.isValid() else None


def _inside(rect: QRect, direction: Qt.LayoutDirection) -> QRect:
    return QStyle.visualRect(direction, rect, rect.adjusted(SPACE_8, 0, -SPACE_4, 0))
