"""An in-memory index of all conversations, ordered by their latest message.

The more conversations there are, the longer it takes to read the order from the file, and the list
filter needs it while the user types. The index is read once and then updated with what the change
watcher finds. It keeps its lines in compressed blocks, see
:mod:`~hermes_desktop.state.sessions.line_blocks`.
"""

import itertools
import sqlite3
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hermes_desktop.state.facade.store import Store
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import StateChanges
from hermes_desktop.state.sessions.line_blocks import LineBlocks, LineEntry, LineSorter
from hermes_desktop.state.sessions.lineage import Chains
from hermes_desktop.state.sessions.list_order import Needle, conversation_roots, lines_of
from hermes_desktop.state.sessions.session_list import Line, ListFilter, load_lines

_ALL = ListFilter(exclude_sources=("tool",), limit=None, include_archived=True)
_CHUNK = 200
_FIRST_LOOK = 1_000
_SHELVES = ((False, False), (False, True), (True, False), (True, True))
"""Separate collections by whether their lines are archived and whether they are empty."""
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


class ActivityIndex:
    """The order of the session list. Used on one thread.

    Args:
        db: The store that the sessions are read from.
    """

    def __init__(self, db: Store) -> None:
        self._db = db
        self._shelves = {shelf: LineBlocks() for shelf in _SHELVES}

    def __len__(self) -> int:
        return sum(map(len, self._shelves.values()))

    def rebuild(self) -> None:
        """Read the whole index.

        Raises:
            BusyError: Another program keeps the file locked; the index is unchanged.
            StateError: It cannot be read; the index is unchanged.
        """

        def load(conn: sqlite3.Connection) -> dict[tuple[bool, bool], LineSorter]:
            sorters = {shelf: LineSorter() for shelf in _SHELVES}
            # Chain by chain: those of the whole store together would take as much memory as the
            # index, for a moment.
            for line in load_lines(
                conn, _ALL, self._db.layout, lambda root: Chains.load(conn, below=root.id)
            ):
                sorters[_shelf_of(line)].add(LineEntry.of(line))
            return sorters

        sorters = self._db.read(load)
        self._shelves = {shelf: sorter.sorted() for shelf, sorter in sorters.items()}

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
            lines = self._lines_around(conn, ids)
            shown = sorted(LineEntry.of(line) for line in lines if _shelf_of(line) == _LISTED)
            if len(shown) >= limit or len(ids) == seen:
                return _page(shown[: -limit - 1 : -1], len(shown))
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
            known = [entry for each in self._shelves.values() for entry in each.covering(changed)]
            members = {name for entry in known for name in entry.members}
            look_at = changed | members
            lines = self._db.read(lambda conn: self._lines_around(conn, look_at))
            roots = {entry.root for entry in known} | {line.root.id for line in lines}
            for shelf, blocks in self._shelves.items():
                fresh = [LineEntry.of(line) for line in lines if _shelf_of(line) == shelf]
                blocks.replace(roots, fresh)

    def _lines_around(self, conn: sqlite3.Connection, ids: Collection[str]) -> list[Line]:
        """Return the lines that cover these sessions or their descendants."""
        roots = conversation_roots(conn, {*ids, *_children(conn, ids)})
        return lines_of(conn, roots, _ALL, self._db.layout)

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
        needle = Needle(text) if text.strip() else None
        if empty is not None:
            return _page(*self._shelves[archived, empty].newest(limit, offset, source, needle))
        both = [
            blocks.newest(limit + offset, 0, source, needle)
            for blocks in self._blocks_of(None, archived=archived)
        ]
        found = sorted(itertools.chain(both[0][0], both[1][0]), reverse=True)
        return _page(found[offset : offset + limit], both[0][1] + both[1][1])

    def _blocks_of(self, empty: bool | None, *, archived: bool) -> list[LineBlocks]:  # noqa: FBT001
        wanted = (False, True) if empty is None else (empty,)
        return [self._shelves[archived, each] for each in wanted]

    def sources(self, *, empty: bool | None = False, archived: bool = False) -> dict[str, int]:
        """Return the number of lines per source, counted as by :meth:`select`; largest first."""
        counts: Counter[str] = Counter()
        for blocks in self._blocks_of(empty, archived=archived):
            counts += blocks.sources()
        return dict(counts.most_common())

    def key_of(self, session_id: str) -> tuple[str, str] | None:
        """Return the line that covers a session, None if there is none."""
        found = (each.covering((session_id,)) for each in self._shelves.values())
        entry = next(itertools.chain.from_iterable(found), None)
        return None if entry is None else (entry.root, entry.tip)


def _shelf_of(line: Line) -> tuple[bool, bool]:
    return line.archived, line.root.message_count == 0


def _page(entries: Sequence[LineEntry], total: int) -> IndexPage:
    return IndexPage(tuple((entry.root, entry.tip) for entry in entries), total)


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
