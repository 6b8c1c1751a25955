"""The Qt model of platforms: one row each, changed in place, so that the selection is kept."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)
from typing_extensions import override

from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.ui.words.platform_words import (
    explained,
    last_contact_text,
    next_retry_text,
    state_words,
)
from hermes_desktop.ui.words.source_names import source_name

Index = QModelIndex | QPersistentModelIndex
HEALTH_ROLE = int(Qt.ItemDataRole.UserRole) + 1
SORT_ROLE = int(Qt.ItemDataRole.UserRole) + 2
NAME, STATE, HEARD, NEXT, DETAIL = range(5)
HEADERS = ("Platform", "State", "Last contact", "Next attempt", "Details")
_TROUBLE_FIRST = (
    "fatal", "silent", "retrying", "connecting", "connected", "paused", "disabled", "unavailable",
)  # fmt: skip
_NEVER = float("inf")
_ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class PlatformRow:
    """One platform and the current texts of its cells."""

    health: PlatformHealth
    cells: tuple[str, ...]

    @classmethod
    def of(cls, health: PlatformHealth, now: float) -> "PlatformRow":
        """Return the row of a platform for a moment."""
        return cls(
            health,
            (
                source_name(health.name),
                state_words(health),
                last_contact_text(health, now),
                next_retry_text(health, now),
                explained(health),
            ),
        )


class PlatformModel(QAbstractTableModel):
    """A table of the given platforms; only cells whose text changes are updated."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[PlatformRow] = []

    def show_platforms(self, platforms: Sequence[PlatformHealth], now: float) -> None:
        """Replace the rows with these platforms, in this order."""
        rows = [PlatformRow.of(each, now) for each in platforms]
        if [r.health.name for r in rows] == [r.health.name for r in self._rows]:
            for number, row in enumerate(rows):
                self._change(number, row)
            return
        self._replace(rows)

    @override
    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(HEADERS)

    @override
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.tr(HEADERS[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter)
        return None

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self._rows[index.row()]
        column = index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return row.cells[column]
        if role == HEALTH_ROLE:
            return row.health
        if role == SORT_ROLE:
            return _sort_key(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.cells[DETAIL] or None
        if role == Qt.ItemDataRole.AccessibleTextRole and column == NAME:
            return spoken(row)
        return None

    def _change(self, number: int, row: PlatformRow) -> None:
        before = self._rows[number]
        if row == before:
            return
        self._rows[number] = row
        changed = [n for n, cell in enumerate(row.cells) if cell != before.cells[n]]
        if row.health.state != before.health.state:
            changed = [NAME, DETAIL]
        if changed:
            first, last = self.index(number, min(changed)), self.index(number, max(changed))
            self.dataChanged.emit(first, last)

    def _replace(self, rows: list[PlatformRow]) -> None:
        """Insert and remove single rows, so that a selected platform stays selected."""
        wanted = {row.health.name for row in rows}
        for number in range(len(self._rows) - 1, -1, -1):
            if self._rows[number].health.name not in wanted:
                self.beginRemoveRows(_ROOT, number, number)
                del self._rows[number]
                self.endRemoveRows()
        for number, row in enumerate(rows):
            here = self._rows[number].health.name if number < len(self._rows) else None
            if here == row.health.name:
                self._change(number, row)
            else:
                self._bring(number, row)

    def _bring(self, number: int, row: PlatformRow) -> None:
        """Insert a row; one that exists further below moves up."""
        names = [each.health.name for each in self._rows]
        if row.health.name in names:
            old = names.index(row.health.name)
            self.beginRemoveRows(_ROOT, old, old)
            del self._rows[old]
            self.endRemoveRows()
        self.beginInsertRows(_ROOT, number, number)
        self._rows.insert(number, row)
        self.endInsertRows()


class PlatformFilterModel(QSortFilterProxyModel):
    """Sorts by any column, by state with failing platforms first; filters by any text."""

    def __init__(self, model: PlatformModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setSourceModel(model)
        self.setSortRole(SORT_ROLE)
        self.setFilterKeyColumn(-1)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)


def spoken(row: PlatformRow) -> str:
    """Return the text of a row for screen readers."""
    name, state, heard, tried, detail = row.cells
    parts = [name, state]
    if heard:
        parts.append(f"last contact {heard}")
    if tried:
        parts.append(f"next attempt {tried}")
    return ", ".join([*parts, detail] if detail else parts)


def _sort_key(row: PlatformRow, column: int) -> object:
    health = row.health
    if column == STATE:
        return _TROUBLE_FIRST.index(health.state)
    if column == HEARD:
        return -health.last_heard_at if health.last_heard_at is not None else _NEVER
    if column == NEXT:
        return health.next_try_at if health.next_try_at is not None else _NEVER
    return row.cells[column].casefold()
