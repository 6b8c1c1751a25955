"""The Qt model of all secrets, one row each; no values, their ends only on request."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)
from typing_extensions import override

from hermes_desktop.ui.settings.secrets.secret_text import (
    label_words,
    places_words,
    spoken_state,
    used_by,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_desktop.services.secrets.secrets_repository import SecretView

Index = QModelIndex | QPersistentModelIndex
VIEW_ROLE = int(Qt.ItemDataRole.UserRole) + 1
LABEL, WHERE, STATE, USED_BY = range(4)
HEADERS = ("Secret", "Where", "State", "Used by")
_ROOT = QModelIndex()


class SecretModel(QAbstractTableModel):
    """A table of the given secrets; rows that remain are changed in place."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._views: list[SecretView] = []
        self._ends = False
        self._ambiguous: frozenset[str] = frozenset()

    def show_views(self, views: Iterable[SecretView]) -> None:
        """Replace the rows with these secrets, sorted by name."""
        wanted = sorted(views, key=lambda view: view.name)
        counts = Counter(label_words(view) for view in wanted)
        self._ambiguous = frozenset(label for label, count in counts.items() if count > 1)
        if [view.name for view in wanted] == [view.name for view in self._views]:
            self._views = wanted
            self._all_changed()
            return
        self.beginResetModel()
        self._views = wanted
        self.endResetModel()

    def show_ends(self, shown: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Show or hide the last four characters of each."""
        if shown != self._ends:
            self._ends = shown
            self._all_changed()

    def row_of(self, name: str) -> int:
        """Return the row of a secret; -1 if there is none."""
        return next((row for row, view in enumerate(self._views) if view.name == name), -1)

    @override
    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._views)

    @override
    def columnCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(HEADERS)

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> str | None:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section]
        return None

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        view = self._views[index.row()]
        if role == VIEW_ROLE:
            return view
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell(view, index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            words = self._cell(view, index.column())
            return f"{words}\n{view.name}" if index.column() == LABEL else words
        if role == Qt.ItemDataRole.AccessibleTextRole and index.column() == LABEL:
            return ", ".join(filter(None, (self._cell(view, column) for column in range(4))))
        return None

    def _cell(self, view: SecretView, column: int) -> str:
        if column == LABEL:
            label = label_words(view)
            return f"{label} ({view.name})" if label in self._ambiguous else label
        if column == WHERE:
            return places_words(view, show_end=self._ends)
        return spoken_state(view) if column == STATE else used_by(view)

    def _all_changed(self) -> None:
        if self._views:
            last = self.index(len(self._views) - 1, len(HEADERS) - 1)
            self.dataChanged.emit(self.index(0, 0), last)


class SecretFilterModel(QSortFilterProxyModel):
    """Sorts by the text of the cells; secrets that are not set are shown only on request."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all = False
        self.setSortCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)

    def show_all(self, wanted: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Also show secrets that are not set."""
        self._all = wanted
        self.invalidate()

    @override
    def filterAcceptsRow(self, source_row: int, source_parent: Index) -> bool:
        view = self.sourceModel().index(source_row, 0, source_parent).data(VIEW_ROLE)
        return self._all or bool(view.places)
