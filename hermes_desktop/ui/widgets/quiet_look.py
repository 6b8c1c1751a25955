"""The appearance of settings tables: rows of one height below a hairline, sortable by heading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)
from typing_extensions import override

from hermes_desktop.ui.widgets.leading_text import draw_text
from hermes_desktop.ui.widgets.quiet_header import ARROW, QuietHeader, inside
from hermes_desktop.ui.widgets.scroll_bars import make_slim

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.ui.widgets.theme import Palette, Theme

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
