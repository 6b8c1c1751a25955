"""A table to look things up in: quiet rows, sorted by a click on a heading, walked by keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QTableView
from typing_extensions import override

from hermes_desktop.ui.widgets.quiet_look import fit_height, make_quiet, wanted_width
from hermes_desktop.ui.widgets.theme import SPACE_8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QResizeEvent

    from hermes_desktop.ui.widgets.theme import Palette, Theme

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
        make_quiet(self, theme, _colour)
        self.setModel(self._items)
        self.selectionModel().currentRowChanged.connect(self._tell)
        self.doubleClicked.connect(lambda index: self.entered.emit(_of_row(index)))

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
        fit_height(self, _MOST_ROWS)
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
        return wanted_width(self, column) + 3 * SPACE_8

    def _tell(self, current: QModelIndex, _: QModelIndex) -> None:
        self.chosen.emit(_of_row(current))


def _item(thing: object, cell: Cell) -> QStandardItem:
    item = QStandardItem(cell.text)
    item.setEditable(False)
    item.setData(cell.text.casefold() if cell.order is None else cell.order, _SORT)
    item.setData(thing, _OF_ROW)
    item.setToolTip(cell.more or cell.text)
    return item


def _of_row(index: QModelIndex) -> Any:
    return index.siblingAtColumn(0).data(_OF_ROW) if index.isValid() else None


def _colour(index: QModelIndex | QPersistentModelIndex, palette: Palette) -> str:
    return palette.secondary_text if index.column() else palette.text
