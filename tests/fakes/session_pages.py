"""A session list in memory, for widgets that show one: the same queries, no database."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.services.sessions.live_catalog import ListQuery, SessionPage
from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.state.search.search_records import SearchHit, SearchOutcome, SearchQuery

NOON = 1_795_867_200.0
"""28 November 2026, 12:00 UTC."""


class StandingClock:
    """A clock at which it is always noon; pacing still works."""

    def time(self) -> float:
        return NOON + 60

    def monotonic(self) -> float:
        return time.monotonic()


def summary(number: int, **fields) -> SessionSummary:
    """Return a session; higher numbers are older, one hour apart."""
    when = NOON - number * 3600
    defaults = {
        "id": f"20261128_{number:06d}_abcdef",
        "root_id": fields.get("id", f"20261128_{number:06d}_abcdef"),
        "source": ("cli", "telegram", "desktop", "discord", "cron")[number % 5],
        "title": f"Session {number}",
        "preview": f"What was asked first in session {number}",
        "started_at": when - 600,
        "last_active": when,
        "message_count": 2 + number % 40,
    }
    return SessionSummary(**(defaults | fields))


class MemoryCatalog:
    """Answers queries like ``AsyncSessionList`` from a list of rows that a test may change."""

    def __init__(self, rows: list[SessionSummary]) -> None:
        self.rows = rows
        self.queries: list[ListQuery] = []
        self.error: Exception | None = None

    async def newest(self) -> SessionPage | None:
        return None

    async def page(self, query: ListQuery) -> SessionPage:
        self.queries.append(query)
        if self.error is not None:
            raise self.error
        fitting = [row for row in self._ordered() if self._fits(row, query)]
        shown = [row for row in fitting if row.is_empty == query.empty]
        empty = [row for row in fitting if row.is_empty]
        sources: dict[str, int] = {}
        for row in self.rows:
            if not row.archived:
                sources[row.source] = sources.get(row.source, 0) + 1
        archived = sum(row.archived for row in self.rows)
        return SessionPage(tuple(shown[: query.limit]), len(shown), len(empty), sources, archived)

    async def summary(self, session_id: str) -> SessionSummary:
        for row in self.rows:
            if session_id in (row.id, row.root_id):
                return row
        raise NotFoundError("This session no longer exists.")

    async def rename(self, session_id: str, title: str) -> str | None:
        self.change(session_id, title=title or None)
        return title or None

    def change(self, session_id: str, **fields) -> None:
        """Replace fields of one row, as another process would."""
        self.rows = [replace(r, **fields) if r.id == session_id else r for r in self.rows]

    def _ordered(self) -> list[SessionSummary]:
        return sorted(self.rows, key=lambda row: -row.last_active)

    @staticmethod
    def _fits(row: SessionSummary, query: ListQuery) -> bool:
        text = query.text.casefold()
        named = text in (row.title or "").casefold() or text in row.id
        return named and query.source in {None, row.source} and query.archived == row.archived


class MemoryFinder:
    """Returns predefined hits; a search waits until ``go`` is set."""

    def __init__(self) -> None:
        self.hits: list[SearchHit] = []
        self.queries: list[SearchQuery] = []
        self.cancelled = 0
        self.error: Exception | None = None
        self.go = asyncio.Event()
        self.go.set()

    async def find(
        self, query: SearchQuery, on_hits: Callable[[Sequence[SearchHit]], None]
    ) -> SearchOutcome:
        self.queries.append(query)
        if self.error is not None:
            raise self.error
        found = self.hits[: query.limit]
        for start in range(0, len(found), 10):
            await self.go.wait()
            on_hits(found[start : start + 10])
        await self.go.wait()
        return SearchOutcome(len(found), more=len(self.hits) > query.limit)

    def cancel(self) -> None:
        self.cancelled += 1


def hit(number: int, **fields) -> SearchHit:
    """Return a search hit; higher numbers are older, one hour apart."""
    when = NOON - number * 3600
    name = f"20261128_{number:06d}_abcdef"
    defaults = {
        "message_id": 10_000 - number,
        "session_id": name,
        "root_id": name,
        "tip_id": name,
        "role": ("user", "assistant")[number % 2],
        "timestamp": when,
        "snippet": f"...and then the walrus number {number} went home again, it was late...",
        "marks": ((16, 22),),
        "source": ("cli", "telegram", "desktop")[number % 3],
        "title": f"Session {number}",
        "session_started": when - 600,
    }
    return SearchHit(**(defaults | fields))
