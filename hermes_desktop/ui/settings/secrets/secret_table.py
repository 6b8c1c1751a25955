"""The table of secrets: rows of one height, sorted by a click on a header."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QTableView, QWidget
from typing_extensions import override

from hermes_desktop.ui.settings.secrets.secret_model import (
    LABEL,
    STATE,
    USED_BY,
    VIEW_ROLE,
    WHERE,
    Index,
)
from hermes_desktop.ui.settings.secrets.secret_text import QUIET_STATES
from hermes_desktop.ui.widgets.quiet_look import fit_height, style_table, wanted_width
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, Palette, Theme

if TYPE_CHECKING:
    from PySide6.QtCore import QAbstractItemModel
    from PySide6.QtGui import QFocusEvent, QResizeEvent

_MOST_ROWS = 10
_LEAST_LABEL = 120
_LEAST_USED = 76


class SecretTable(QTableView):
    """A table with one selected row.

    Signals:
        chosen: The selection has changed; carries the view of the row, or None.
    """

    chosen = Signal(object)

    def __init__(self, model: QAbstractItemModel, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Secrets"))
        style_table(self, theme, _colour)
        self.horizontalHeader().setStretchLastSection(True)
        self.setModel(model)
        self.sortByColumn(LABEL, Qt.SortOrder.AscendingOrder)
        self.selectionModel().currentRowChanged.connect(self._tell)
        for signal in (model.modelReset, model.layoutChanged, model.dataChanged):
            signal.connect(self.fit)

    def choose(self, row: int) -> None:
        """Select a row of the visible ones; an invalid row clears the selection."""
        index = self.model().index(row, LABEL)
        self.setCurrentIndex(index)
        if index.isValid():
            self.scrollTo(index)

    def fit(self) -> None:
        """Fit the height to the rows, and each column to its text."""
        fit_height(self, _MOST_ROWS)
        left = self.viewport().width()
        state, used = self._wanted_width(STATE), self._wanted_width(USED_BY)
        label = max(_LEAST_LABEL, self._wanted_width(LABEL))
        where = self._wanted_width(WHERE)
        self.setColumnHidden(USED_BY, left - state - where - _LEAST_LABEL < _LEAST_USED)
        if not self.isColumnHidden(USED_BY):
            left -= used
        over = max(0, label + where + state - left)
        cut = min(over, max(0, label - _LEAST_LABEL))
        for column, width in ((LABEL, label - cut), (WHERE, where - (over - cut)), (STATE, state)):
            self.setColumnWidth(column, max(width, 48))

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        """Select the first row if none is current, so that the keyboard has a place to start."""
        super().focusInEvent(event)
        if not self.currentIndex().isValid():
            self.choose(0)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def _wanted_width(self, column: int) -> int:
        return wanted_width(self, column) + SPACE_8 + SPACE_12

    def _tell(self, current: QModelIndex, _: QModelIndex) -> None:
        self.chosen.emit(current.data(VIEW_ROLE) if current.isValid() else None)


def _colour(index: Index, palette: Palette) -> str:
    """Return the color of a cell; trouble has the color of warnings."""
    if index.column() == STATE and str(index.data() or "") not in QUIET_STATES:
        return palette.warning
    return palette.text if index.column() == LABEL else palette.secondary_text
