"""Model of the window's session list: newest activity first, filtered, updated on every change.

The order is kept in memory (:class:`~hermes_desktop.state.facade.activity_index.ActivityIndex`).
Rows are read by primary key and cached until the watcher reports them as changed.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.services.sessions.session_catalog import gone_session
from hermes_desktop.state import SessionDB
from hermes_desktop.state.facade.activity_index import ActivityIndex
from hermes_desktop.state.records.records import SessionSummary, StateChanges

if TYPE_CHECKING:
    from concurrent.futures import Future

WATCHED_ROWS = 200
FIRST_ROWS = 50


@dataclass(frozen=True, slots=True)
class ListQuery:
    """A query for the session list.

    Attributes:
        text: Part of a title or id; "" shows all.
        source: Only this source, exactly as stored; None shows all.
        empty: False leaves out sessions without a message, True shows only those.
        archived: Show archived sessions instead of the others.
        limit: The maximum number of rows; the list requests more while it is scrolled.
    """

    text: str = ""
    source: str | None = None
    empty: bool = False
    archived: bool = False
    limit: int = 200

    @property
    def narrows(self) -> bool:
        """Whether it hides anything that the list shows at first."""
        return bool(self.text or self.source or self.archived)


@dataclass(frozen=True, slots=True)
class SessionPage:
    """The rows that the list shows now.

    Attributes:
        rows: The first ``limit`` rows, newest activity first. A row that did not change since the
            last page is the very same object.
        total: The total number of rows of the query.
        empty_total: The number of sessions without a message that the same query hides.
        sources: Every source in the home with its number of listed sessions.
        archived_total: The number of archived sessions.
    """

    rows: tuple[SessionSummary, ...]
    total: int
    empty_total: int
    sources: Mapping[str, int] = field(default_factory=dict)
    archived_total: int = 0


class AsyncSessionList:
    """Asynchronous facade of the list. Called on the loop; everything runs on ``state-read``.

    Args:
        db: The open database.
        readers: The one-thread ``state-read`` worker, which the watcher also uses.
        writers: The ``state-write`` worker.
    """

    def __init__(self, db: SessionDB, readers: WorkerThreads, writers: WorkerThreads) -> None:
        self._db = db
        self._readers = readers
        self._writers = writers
        self._index: ActivityIndex | None = None
        self._rows: dict[str, SessionSummary] = {}
        self._shown: dict[bool, frozenset[str]] = {False: frozenset(), True: frozenset()}
        self._listed: frozenset[str] = frozenset()
        self._expected: frozenset[str] = frozenset()
        self._pins: frozenset[str] | None = None
        self._early: Future[SessionPage | None] | None = None

    @property
    def listed_ids(self) -> frozenset[str]:
        """Sessions at the head of the list, whose every change matters; read on ``state-read``."""
        return self._listed | self._expected

    def expect(self, session_ids: Collection[str]) -> None:
        """Include these in every check, listed or not: we have just changed them. Any thread."""
        self._expected = frozenset(session_ids)

    async def page(self, query: ListQuery) -> SessionPage:
        """Read one page.

        Raises:
            StateError: The database cannot be read.
        """
        return await self._readers.run(self._page, query)

    def read_early(self) -> None:
        """Begin to read :meth:`newest` now, before what is queued from here on.

        The watcher's first check takes a second with 200,000 sessions, and only a provisional
        page may be read before it.
        """
        self._early = self._readers.submit(self._newest)

    async def newest(self) -> SessionPage | None:
        """Return a provisional first page, before the full order is known.

        It is read quickly however large the history is. :meth:`page` then returns the exact result:
        totals, sources, and rows whose messages carry odd times.

        Returns:
            None when the order is known already: request a page directly.

        Raises:
            StateError: The database cannot be read.
        """
        early, self._early = self._early, None
        if early is not None:
            return await asyncio.wrap_future(early)
        return await self._readers.run(self._newest)

    async def summary(self, session_id: str) -> SessionSummary:
        """Read one row as the list shows it.

        Raises:
            NotFoundError: It is gone.
        """
        summary = await self._readers.run(self._db.summary, session_id)
        if summary is None:
            raise gone_session(session_id)
        return summary

    async def rename(self, session_id: str, title: str) -> str | None:
        """Set the title of a session.

        Returns:
            The title as it was stored (cleaned), None when it was removed.

        Raises:
            NotFoundError: The session is gone.
            TitleError: The title is too long, or another session has it.
        """
        return await self._writers.run(self._rename, session_id, title)

    def note_changes(self, changes: StateChanges) -> None:
        """Apply changes found by the watcher. Runs on ``state-read``, before they are published."""
        if changes.reload_all:
            self._rows.clear()
        for session_id in changes.touched | changes.removed:
            self._rows.pop(session_id, None)
        if self._index is not None:
            self._index.apply(changes)

    def repinned(self) -> frozenset[str]:
        """Return sessions pinned or unpinned in our own database since the last call.

        The watcher of the shared file cannot see such changes. Runs on ``state-read``.
        """
        before, self._pins = self._pins, self._db.own_pins_if_readable()
        return frozenset() if before is None else before ^ self._pins

    def _newest(self) -> SessionPage | None:
        if self._index is not None:
            return None
        found = ActivityIndex(self._db).first_page(limit=FIRST_ROWS)
        self._rows.update(self._db.summaries(found.keys))
        rows = tuple(self._rows[tip] for _, tip in found.keys if tip in self._rows)
        return SessionPage(rows, found.total, empty_total=0)

    def _page(self, query: ListQuery) -> SessionPage:
        provisional = self._rows if self._index is None else {}
        index = self._ready_index()
        found = index.select(
            text=query.text,
            source=query.source,
            empty=query.empty,
            archived=query.archived,
            limit=query.limit,
        )
        hidden = index.select(
            text=query.text, source=query.source, empty=True, archived=query.archived, limit=0
        )
        missing = [key for key in found.keys if key[1] not in self._rows]
        for tip, row in self._db.summaries(missing).items():
            before = provisional.get(tip)
            self._rows[tip] = before if before is not None and before == row else row
        self._forget_unlisted(query, found.keys)
        rows = tuple(self._rows[tip] for _, tip in found.keys if tip in self._rows)
        if not query.empty:
            self._listed = frozenset(row.id for row in rows[:WATCHED_ROWS])
        archived = sum(
            index.select(empty=empty, archived=True, limit=0).total for empty in (False, True)
        )
        return SessionPage(rows, found.total, hidden.total, index.sources(), archived)

    def _forget_unlisted(self, query: ListQuery, keys: Collection[tuple[str, str]]) -> None:
        """Drop cached rows that no list shows any more, once there are many of them."""
        self._shown[query.empty] = frozenset(tip for _, tip in keys)
        shown = self._shown[False] | self._shown[True]
        if len(self._rows) > 2 * len(shown) + WATCHED_ROWS:
            self._rows = {tip: row for tip, row in self._rows.items() if tip in shown}

    def _ready_index(self) -> ActivityIndex:
        if self._index is None:
            self._rows = {}  # those of a provisional page may be older than the first check
            index = ActivityIndex(self._db)
            index.rebuild()
            self._index = index
        return self._index

    def _rename(self, session_id: str, title: str) -> str | None:
        if not self._db.set_session_title(session_id, title):
            raise NotFoundError("This session no longer exists.", "", "Choose another one.")
        return self._db.get_session_title(session_id)
