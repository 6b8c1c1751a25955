"""A read-only table, sorted by a click on a heading, with keyboard navigation by rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QTableView
from typing_extensions import override

from hermes_desktop.ui.widgets.quiet_look import fit_height, style_table, wanted_width
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
    """One cell of a row.

    Attributes:
        text: One line.
        order: The sort key; None for the text.
        more: The tool tip.
    """

    text: str
    order: Any = None
    more: str = ""


class QuietTable(QTableView):
    """A read-only table in which one row is selected at a time.

    Args:
        name: The accessible name.
        columns: Headings; the second column takes the remaining width.
        theme: Colors.

    Signals:
        chosen: The object of the row that is selected now; None for no row.
        entered: The object of the row on which Enter was pressed or that was double-clicked.
    """

    chosen = Signal(object)
    entered = Signal(object)

    def __init__(self, name: str, columns: Sequence[str], theme: Theme) -> None:
        super().__init__()
        self._items = QStandardItemModel(0, len(columns), self)
        self._items.setHorizontalHeaderLabels(list(columns))
        self._items.setSortRole(_SORT)
        self.setAccessibleName(name)
        style_table(self, theme, _colour)
        self.setModel(self._items)
        self.selectionModel().currentRowChanged.connect(self._tell)
        self.doubleClicked.connect(lambda index: self.entered.emit(_of_row(index)))

    @property
    def current(self) -> Any:
        """The object of the selected row, None for none."""
        return _of_row(self.currentIndex())

    def sort_first_by(self, column: int, *, ascending: bool = True) -> None:
        """Set the initial sort order, used until the user clicks a heading."""
        order = Qt.SortOrder.AscendingOrder if ascending else Qt.SortOrder.DescendingOrder
        self.sortByColumn(column, order)

    def show_rows(self, rows: Sequence[tuple[object, Sequence[Cell]]]) -> None:
        """Show rows, each with its object; the selection is kept if that object is still there."""
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
        """Fit the height to the rows and the columns to their text."""
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
