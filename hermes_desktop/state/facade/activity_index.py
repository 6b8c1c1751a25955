"""An in-memory index of all conversations, ordered by their latest message.

The more conversations there are, the longer it takes to read the order from the file, and the list
filter needs it while the user types. The index is read once and then updated with what the change
watcher finds.
"""

import bisect
import functools
import itertools
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from hermes_desktop.state.facade.session_reads import SessionReads
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import StateChanges
from hermes_desktop.state.sessions import lineage
from hermes_desktop.state.sessions.chains import Chains, Segment
from hermes_desktop.state.sessions.line_matching import Needle, haystack
from hermes_desktop.state.sessions.session_list import Line, ListFilter, load_lines

_ALL = ListFilter(exclude_sources=("tool",), limit=None, include_archived=True)
_CHUNK = 200
_FIRST_LOOK = 1_000
_LISTED = (False, False)
"""The key of lines that are neither archived nor empty."""
_WRITTEN_LAST = """
SELECT DISTINCT session_id FROM (SELECT session_id FROM messages ORDER BY id DESC LIMIT ?)
"""
_MANY = 500
"""With more touched sessions than this, a full rebuild is faster."""


@dataclass(frozen=True, slots=True)
class IndexPage:
    """A page of the list.

    Attributes:
        keys: Pairs of root id and tip id, as ``SessionDB.summaries`` takes them.
        total: How many lines there are without limit and offset.
    """

    keys: tuple[tuple[str, str], ...]
    total: int


class _Entry:
    """One line of the list, and the text that the filter searches."""

    __slots__ = ("archived", "empty", "hay", "key", "members", "order", "source")

    def __init__(self, line: Line) -> None:
        self.key = (line.root.id, line.tip_id)
        self.order = line.order
        self.source = line.source
        self.empty = line.root.message_count == 0
        self.archived = line.archived
        self.members = tuple(member.id for member in line.members)
        self.hay = haystack(line.members)

    @property
    def shelf(self) -> tuple[bool, bool]:
        """The key of the ordered list that contains it."""
        return self.archived, self.empty


class ActivityIndex:
    """The order of the session list. Used on one thread.

    Args:
        db: The store that the sessions are read from.
    """

    def __init__(self, db: SessionReads) -> None:
        self._db = db
        self._entries: dict[str, _Entry] = {}
        self._root_of: dict[str, str] = {}
        self._oldest_first: dict[tuple[bool, bool], list[_Entry]] = _shelved(())
        """Separate lists by whether their lines are archived and whether they are empty."""

    def __len__(self) -> int:
        return len(self._entries)

    def rebuild(self) -> None:
        """Read the whole index.

        Raises:
            BusyError: Another program keeps the file locked; the index is unchanged.
            StateError: It cannot be read; the index is unchanged.
        """

        def load(conn: sqlite3.Connection) -> list[_Entry]:
            chains = Chains.load(conn)
            return [
                _Entry(line) for line in load_lines(conn, _ALL, self._db.layout, lambda _: chains)
            ]

        entries = self._db.read(load)
        entries.sort(key=_order)
        self._oldest_first = _shelved(entries)
        self._entries = {entry.key[0]: entry for entry in entries}
        self._root_of = {name: entry.key[0] for entry in entries for name in entry.members}

    def first_page(self, *, limit: int = 50) -> IndexPage:
        """Return the newest lines with messages without the index, until it is built.

        Reads the messages written last, so a conversation whose messages carry older times than the
        time of writing may move later. ``total`` counts the lines found.

        Raises:
            BusyError: Another program keeps the file locked.
            StateError: It cannot be read.
        """
        return self._db.read(lambda conn: self._newest(conn, limit))

    def _newest(self, conn: sqlite3.Connection, limit: int) -> IndexPage:
        looked, seen = _FIRST_LOOK, -1
        while True:
            ids = [row[0] for row in conn.execute(_WRITTEN_LAST, (looked,)).fetchall()]
            entries = [_Entry(line) for line in self._lines_around(conn, ids)]
            shown = sorted((e for e in entries if e.shelf == _LISTED), key=_order, reverse=True)
            if len(shown) >= limit or len(ids) == seen:
                return IndexPage(tuple(entry.key for entry in shown[:limit]), len(shown))
            looked, seen = looked * 8, len(ids)

    def apply(self, changes: StateChanges) -> None:
        """Update the index with changes; the cost depends on the number of touched sessions.

        Raises:
            BusyError: As for :meth:`rebuild`.
            StateError: As for :meth:`rebuild`.
        """
        changed = changes.touched | changes.removed
        if changes.reload_all or len(changed) > _MANY:
            self.rebuild()
        elif changed:
            known = {self._root_of[name] for name in changed if name in self._root_of}
            members = {name for root in known for name in self._entries[root].members}
            look_at = changed | members
            lines = self._db.read(lambda conn: self._lines_around(conn, look_at))
            for root in known:
                self._drop(root)
            for line in lines:
                self._drop(line.root.id)
                self._put(_Entry(line))

    def _lines_around(self, conn: sqlite3.Connection, ids: Collection[str]) -> list[Line]:
        """Return the lines that cover these sessions or their descendants."""
        roots: set[str] = set()
        for name in {*ids, *_children(conn, ids)}:
            roots.add([name, *lineage.compression_ancestors(conn, clean_text(name))][-1])
        found: list[Line] = []
        wanted = list(roots)
        for start in range(0, len(wanted), _CHUNK):
            choice = replace(_ALL, ids=wanted[start : start + _CHUNK])
            below = functools.partial(_chains_below, conn)
            found += load_lines(conn, choice, self._db.layout, below)
        return found

    def _put(self, entry: _Entry) -> None:
        root = entry.key[0]
        self._entries[root] = entry
        for name in entry.members:
            self._root_of[name] = root
        bisect.insort(self._oldest_first[entry.shelf], entry, key=_order)

    def _drop(self, root: str) -> None:
        entry = self._entries.pop(root, None)
        if entry is None:
            return
        for name in entry.members:
            if self._root_of.get(name) == root:
                del self._root_of[name]
        entries = self._oldest_first[entry.shelf]
        del entries[bisect.bisect_left(entries, entry.order, key=_order)]

    def select(
        self,
        *,
        text: str = "",
        source: str | None = None,
        empty: bool | None = False,
        archived: bool = False,
        limit: int = 200,
        offset: int = 0,
    ) -> IndexPage:
        """Return the newest lines that match.

        Args:
            text: Part of a title or id of any segment; case and punctuation are ignored.
            source: Exactly this source; None for all.
            empty: False for lines with messages, True for those without, None for both.
            archived: Archived lines instead of the others.
            limit: Maximum number of keys.
            offset: Number of keys to skip.
        """
        entries = self._entries_of(empty, archived=archived)
        if source is not None:
            entries = [entry for entry in entries if entry.source == source]
        if text.strip():
            needle = Needle(text)
            entries = [entry for entry in entries if needle.found_in(entry.hay)]
        total = len(entries)
        stop, start = max(total - offset, 0), max(total - offset - limit, 0)
        return IndexPage(tuple(entry.key for entry in reversed(entries[start:stop])), total)

    def _entries_of(self, empty: bool | None, *, archived: bool) -> list[_Entry]:  # noqa: FBT001
        if empty is not None:
            return self._oldest_first[archived, empty]
        both = (self._oldest_first[archived, each] for each in (False, True))
        return sorted(itertools.chain(*both), key=_order)

    def sources(self, *, empty: bool | None = False, archived: bool = False) -> dict[str, int]:
        """Return the number of lines per source, counted as by :meth:`select`; largest first."""
        counts = Counter(entry.source for entry in self._entries_of(empty, archived=archived))
        return dict(counts.most_common())

    def key_of(self, session_id: str) -> tuple[str, str] | None:
        """Return the line that covers a session, None if there is none."""
        root = self._root_of.get(session_id)
        return None if root is None else self._entries[root].key


def _shelved(entries: Iterable[_Entry]) -> dict[tuple[bool, bool], list[_Entry]]:
    shelves: dict[tuple[bool, bool], list[_Entry]] = {
        (archived, empty): [] for archived in (False, True) for empty in (False, True)
    }
    for entry in entries:
        shelves[entry.shelf].append(entry)
    return shelves


def _order(entry: _Entry) -> tuple[float, float, str]:
    return entry.order


def _chains_below(conn: sqlite3.Connection, root: Segment) -> Chains:
    return Chains.load(conn, below=root.id)


def _children(conn: sqlite3.Connection, ids: Collection[str]) -> list[str]:
    wanted = [clean_text(name) for name in ids]
    found: list[str] = []
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        rows = conn.execute(
            f"SELECT id FROM sessions WHERE parent_session_id IN ({', '.join('?' * len(chunk))})",
            chunk,
        ).fetchall()
        found += [row[0] for row in rows]
    return found
