"""The Qt model of the session list: one column, updated in place so that views keep their state."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from typing_extensions import override

from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.sessions.list_entries import (
    Entry,
    HeadingEntry,
    Insert,
    Move,
    Remove,
    SessionEntry,
    Update,
    entries_of,
    steps_between,
)
from hermes_desktop.ui.words.day_words import DateFormatter
from hermes_desktop.ui.words.source_names import source_name

Index = QModelIndex | QPersistentModelIndex
ENTRY_ROLE = int(Qt.ItemDataRole.UserRole) + 1
RUNNING_ROLE = int(Qt.ItemDataRole.UserRole) + 2
TIME_ROLE = int(Qt.ItemDataRole.UserRole) + 3
WAITING_ROLE = int(Qt.ItemDataRole.UserRole) + 4
DRAFT_ROLE = int(Qt.ItemDataRole.UserRole) + 5
_DRAFT_LENGTH = 120
_ROOT = QModelIndex()


class SessionListModel(QAbstractTableModel):
    """A model of headings and sessions, newest activity first.

    Signals:
        more_wanted: The view came near the end and there are more rows.
        rename_wanted: A title was entered: session id and text.
    """

    more_wanted = Signal()
    rename_wanted = Signal(str, str)

    def __init__(self, *, headings: bool = True, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._headings = headings
        self._entries: list[Entry] = []
        self._rows: tuple[SessionSummary, ...] = ()
        self._words: DateFormatter | None = None
        self._total = 0
        self._asked_at = -1
        self._running: frozenset[str] = frozenset()
        self._waiting: frozenset[str] = frozenset()
        self._drafts: Mapping[str, str] = {}
        self._answers: dict[int, Callable[[SessionSummary], Any]] = {
            int(Qt.ItemDataRole.DisplayRole): lambda summary: line_of(summary.label),
            int(Qt.ItemDataRole.EditRole): lambda summary: summary.title or "",
            int(Qt.ItemDataRole.ToolTipRole): self._tool_tip,
            int(Qt.ItemDataRole.AccessibleTextRole): self._accessible_text,
            RUNNING_ROLE: self._runs,
            WAITING_ROLE: self._waits,
            DRAFT_ROLE: self._draft,
            TIME_ROLE: self._brief_time,
        }

    def show_rows(
        self, rows: Sequence[SessionSummary], words: DateFormatter, *, total: int
    ) -> frozenset[str]:
        """Replace the rows by the fewest changes.

        Args:
            rows: The rows to show, newest activity first.
            words: Formats days and times.
            total: The total number of rows, shown or not.

        Returns:
            Keys of the lines that were moved to another position.
        """
        self._total = total
        self._asked_at = -1
        moved: set[str] = set()
        words_changed = words != self._words
        self._words = words
        self._rows = tuple(rows)
        for step in steps_between(self._entries, entries_of(rows, words, headings=self._headings)):
            if isinstance(step, Move):
                moved.add(self._entries[step.source].key)
            self._carry_out(step)
        if words_changed and self._entries:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._entries) - 1, 0))
        return frozenset(moved)

    def show_running(self, session_ids: frozenset[str]) -> None:
        """Mark the sessions in which a turn runs."""
        changed = self._running ^ session_ids
        self._running = session_ids
        self._tell_changed_sessions(changed)

    def show_waiting(self, session_ids: frozenset[str]) -> None:
        """Mark the sessions in which the assistant waits for the user."""
        changed = self._waiting ^ session_ids
        self._waiting = session_ids
        self._tell_changed_sessions(changed)

    def show_drafts(self, drafts: Mapping[str, str]) -> None:
        """Mark the sessions that have an unsent message, by the root of each."""
        before, self._drafts = self._drafts, {k: _beginning(text) for k, text in drafts.items()}
        keys = before.keys() | self._drafts.keys()
        changed = frozenset(k for k in keys if before.get(k) != self._drafts.get(k))
        self._tell_changed_sessions(changed)

    def _tell_changed_sessions(self, changed: frozenset[str]) -> None:
        for row, entry in enumerate(self._entries):
            if isinstance(entry, SessionEntry) and (
                entry.summary.id in changed or entry.summary.root_id in changed
            ):
                self._tell_changed(row)

    @property
    def session_count(self) -> int:
        """The number of loaded sessions."""
        return len(self._rows)

    def summary_at(self, index: Index) -> SessionSummary | None:
        """Return the session of a line, None for a heading."""
        if not index.isValid():
            return None
        entry = self._entries[index.row()]
        return entry.summary if isinstance(entry, SessionEntry) else None

    def key_at(self, row: int) -> str:
        """Return the identity of a line, which stays the same when it changes or moves."""
        return self._entries[row].key

    def row_of_key(self, key: str) -> int:
        """Return the row of a line, -1 if it is gone."""
        return next((row for row, entry in enumerate(self._entries) if entry.key == key), -1)

    def row_of_session(self, session_id: str) -> int:
        """Return the row of a session, by its id or that of its root; -1 if it is not listed."""
        for row, entry in enumerate(self._entries):
            if isinstance(entry, SessionEntry) and session_id in (
                entry.summary.id,
                entry.summary.root_id,
            ):
                return row
        return -1

    def is_heading(self, row: int) -> bool:
        """Return whether a line is a heading."""
        return isinstance(self._entries[row], HeadingEntry)

    @override
    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._entries)

    @override
    def columnCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else 1

    @override
    def flags(self, index: Index) -> Qt.ItemFlag:
        if self.summary_at(index) is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        entry = self._entries[index.row()]
        if role == ENTRY_ROLE:
            return entry
        if isinstance(entry, HeadingEntry):
            shown = role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return entry.text if shown else None
        answer = self._answers.get(int(role))
        return answer(entry.summary) if answer is not None else None

    @override
    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        summary = self.summary_at(index)
        text = str(value).strip()
        if summary is None or role != Qt.ItemDataRole.EditRole or text == (summary.title or ""):
            return False
        self.rename_wanted.emit(summary.id, text)
        return False  # the row changes once the database has changed

    @override
    def canFetchMore(self, parent: Index) -> bool:
        loaded = len(self._rows)
        return not parent.isValid() and loaded < self._total and loaded != self._asked_at

    @override
    def fetchMore(self, parent: Index) -> None:
        if self.canFetchMore(parent):
            self._asked_at = len(self._rows)
            self.more_wanted.emit()

    def _carry_out(self, step: Remove | Insert | Move | Update) -> None:
        match step:
            case Remove(at, count):
                self.beginRemoveRows(_ROOT, at, at + count - 1)
                del self._entries[at : at + count]
                self.endRemoveRows()
            case Insert(at, entries):
                self.beginInsertRows(_ROOT, at, at + len(entries) - 1)
                self._entries[at:at] = entries
                self.endInsertRows()
            case Move(source, target):
                before = target if target < source else target + 1
                self.beginMoveRows(_ROOT, source, source, _ROOT, before)
                self._entries.insert(target, self._entries.pop(source))
                self.endMoveRows()
            case Update(at, entry):
                self._entries[at] = entry
                self._tell_changed(at)

    def _tell_changed(self, row: int) -> None:
        index = self.index(row, 0)
        self.dataChanged.emit(index, index)

    def _accessible_text(self, summary: SessionSummary) -> str:
        """Return the screen-reader text: source, name, size, time, and whether a turn runs."""
        count = summary.message_count
        parts = [
            source_name(summary.source),
            line_of(summary.label),
            "1 message" if count == 1 else f"{count} messages",
        ]
        if self._words is not None:
            parts.append(self._words.spoken(summary.last_active))
        if summary.pinned:
            parts.append("pinned")
        if self._waits(summary):
            parts.append("waiting for your answer")
        elif self._runs(summary):
            parts.append("a reply is being written")
        if self._draft(summary):
            parts.append(f"draft: {self._draft(summary)}")
        return ", ".join(parts)

    def _tool_tip(self, summary: SessionSummary) -> str:
        when = self._words.full(summary.last_active) if self._words is not None else ""
        pinned = " · Pinned" if summary.pinned else ""
        return f"{line_of(summary.label)}\n{source_name(summary.source)} · {when}{pinned}"

    def _brief_time(self, summary: SessionSummary) -> str:
        if self._words is None:
            return ""
        say = self._words.brief if self._headings else self._words.alone
        return say(summary.last_active)

    def _draft(self, summary: SessionSummary) -> str:
        return self._drafts.get(summary.root_id) or self._drafts.get(summary.id, "")

    def _waits(self, summary: SessionSummary) -> bool:
        return not self._waiting.isdisjoint((summary.id, summary.root_id))

    def _runs(self, summary: SessionSummary) -> bool:
        return summary.id in self._running or summary.root_id in self._running


def line_of(text: str) -> str:
    """Return text on one line, without characters that would reorder the text next to it."""
    return " ".join("".join(c for c in text if c not in _TURNING).split())


def _beginning(text: str) -> str:
    return line_of(text[: 4 * _DRAFT_LENGTH])[:_DRAFT_LENGTH]


_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
