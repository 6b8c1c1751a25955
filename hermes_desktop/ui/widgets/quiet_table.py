"""A read-only table, sorted by a click on a heading, with keyboard navigation by rows.

Its rows have one height and lie below a hairline.
"""

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
)
from typing_extensions import override

from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.row_painting import draw_text
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QResizeEvent

    from hermes_desktop.ui.widgets.theme import Palette, Theme

ARROW = 14


class QuietHeader(QHeaderView):
    """A header with secondary-colored text above a hairline; the sorted column has an arrow.

    Args:
        theme: Colors.
        parent: The table whose columns are named.
    """

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
        draw_text(painter, inside(rect, direction), words, direction)
        if logicalIndex == self.sortIndicatorSection() and self.isSortIndicatorShown():
            up = self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
            left = SPACE_8 + painter.fontMetrics().horizontalAdvance(words) + 2
            top = (rect.height() - ARROW) // 2
            place = QRect(rect.left() + left, rect.top() + top, ARROW, ARROW)
            name = "chevron-up" if up else "chevron-down"
            ratio = float(painter.device().devicePixelRatioF())
            drawing = pixmap(name, palette.secondary_text, ARROW, ratio)
            painter.drawPixmap(QStyle.visualRect(direction, rect, place), drawing)
        painter.restore()


def inside(rect: QRect, direction: Qt.LayoutDirection) -> QRect:
    """Return a rectangle without its margins at the leading and trailing edges."""
    return QStyle.visualRect(direction, rect, rect.adjusted(SPACE_8, 0, -SPACE_4, 0))


ROW = 32


def style_table(
    table: QTableView,
    theme: Theme,
    colour_of: Callable[[QModelIndex | QPersistentModelIndex, Palette], str],
) -> None:
    """Apply the appearance; one row is selected at a time, and the arrow keys move by rows.

    Args:
        table: Before it has its model.
        theme: Colors.
        colour_of: Returns the color of a cell's text.
    """
    table.setHorizontalHeader(QuietHeader(theme, table))
    table.setFrameShape(QFrame.Shape.NoFrame)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    table.setItemDelegate(_Delegate(theme, table, colour_of))
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(ROW)
    table.setSortingEnabled(True)
    make_slim(table, theme)
    theme.changed.connect(table.viewport().update)


def wanted_width(table: QTableView, column: int) -> int:
    """Return the width that a column needs, heading and arrow included but without margins."""
    model, metrics = table.model(), table.fontMetrics()
    words = [str(model.index(row, column).data() or "") for row in range(model.rowCount())]
    heading = str(model.headerData(column, Qt.Orientation.Horizontal) or "")
    widest = max((metrics.horizontalAdvance(each) for each in words), default=0)
    return max(widest, metrics.horizontalAdvance(heading) + ARROW)


def fit_height(table: QTableView, most_rows: int) -> None:
    """Fix the table's height to its rows, limited to ``most_rows``."""
    rows = min(max(1, table.model().rowCount()), most_rows)
    table.setFixedHeight(rows * ROW + table.horizontalHeader().sizeHint().height() + 2)


class _Delegate(QStyledItemDelegate):
    """A delegate that draws one colored line, with a bar at the focused row."""

    def __init__(
        self,
        theme: Theme,
        parent: QTableView,
        colour_of: Callable[[QModelIndex | QPersistentModelIndex, Palette], str],
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._colour_of = colour_of

    @override
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(100, ROW)

    @override
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        palette = self._theme.palette
        state: QStyle.StateFlag = option.state
        selected = bool(state & QStyle.StateFlag.State_Selected)
        painter.save()
        if selected:
            painter.fillRect(option.rect, QColor(palette.selection))
        table = option.widget
        current = isinstance(table, QTableView) and table.currentIndex().row() == index.row()
        if not index.column() and current and table.hasFocus():
            bar = QRect(option.rect.left(), option.rect.top() + 6, 3, ROW - 12)
            place = QStyle.visualRect(option.direction, option.rect, bar)
            painter.fillRect(place, QColor(palette.accent))
        painter.setPen(QColor(self._colour_of(index, palette)))
        painter.setFont(option.font)
        place = inside(option.rect, option.direction)
        draw_text(painter, place, str(index.data() or ""), option.direction)
        painter.restore()


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
