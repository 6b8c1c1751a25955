"""Compression chains of many sessions at once, in memory.

The same rules as in :mod:`lineage`, which follows one session by queries; a list of thousands reads
all continuations in one query instead.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hermes_desktop.state.records.stored_values import as_count, as_seconds, as_title
from hermes_desktop.state.sessions.lineage import MAX_STEPS, continues_sql


@dataclass(frozen=True, slots=True)
class Segment:
    """The facts about one session that a chain needs.

    Attributes:
        last_active: Epoch seconds of the latest message, else of the start.
    """

    id: str
    parent_id: str | None
    started_at: float
    is_open: bool
    is_compressed: bool
    title: str | None
    message_count: int
    last_active: float

    @property
    def rank(self) -> tuple[int, float, float, str]:
        """The sort key among siblings; the greatest is the continuation."""
        state = 2 if self.is_compressed else 1 if self.is_open else 0
        return state, self.last_active, self.started_at, self.id


SEGMENT_COLUMNS = """
s.id, s.parent_session_id, s.started_at, s.end_reason IS NULL AND s.ended_at IS NULL,
coalesce(s.end_reason = 'compression', 0), s.title, coalesce(s.message_count, 0),
coalesce((SELECT max(m.timestamp) FROM messages AS m WHERE m.session_id = s.id), s.started_at)
"""


def segment(row: tuple[Any, ...]) -> Segment:
    """Return a segment from the columns of :data:`SEGMENT_COLUMNS`."""
    started_at = as_seconds(row[2])
    return Segment(
        row[0],
        row[1],
        started_at,
        bool(row[3]),
        bool(row[4]),
        as_title(row[5]),
        as_count(row[6]),
        as_seconds(row[7], started_at),
    )


class Chains:
    """All continuations in a store, by the session that they continue."""

    def __init__(self, children: dict[str, list[Segment]]) -> None:
        self._children = children

    @classmethod
    def load(cls, conn: sqlite3.Connection, *, below: str | None = None) -> "Chains":
        """Read the continuations of the whole store, or only those below one session."""
        children: dict[str, list[Segment]] = defaultdict(list)
        cursor = conn.cursor()
        cursor.row_factory = None
        scope = _BELOW if below is not None else ""
        values = (below, MAX_STEPS) if below is not None else ()
        for row in cursor.execute(scope + _CONTINUATIONS + (_IN_SCOPE if scope else ""), values):
            found = segment(row)
            if found.parent_id is not None:
                children[found.parent_id].append(found)
        return cls(children)

    def forward(self, root: Segment) -> list[Segment]:
        """Return the chain shown to the user: the session and its continuations, the tip last."""
        chain, seen = [root], {root.id}
        while chain[-1].is_compressed and len(chain) <= MAX_STEPS:
            options = self._children.get(chain[-1].id)
            best = max(options, key=lambda option: option.rank) if options else None
            if best is None or best.id in seen:
                break
            chain.append(best)
            seen.add(best.id)
        return chain

    def all_below(self, root: Segment) -> Iterator[Segment]:
        """Yield the session and everything that continues it, forks included."""
        waiting, seen = [root], {root.id}
        while waiting:
            current = waiting.pop()
            yield current
            if current.is_compressed:
                fresh = [s for s in self._children.get(current.id, ()) if s.id not in seen]
                seen.update(found.id for found in fresh)
                waiting.extend(fresh)


_CONTINUATIONS = f"""
SELECT {SEGMENT_COLUMNS} FROM sessions AS s
WHERE s.parent_session_id IS NOT NULL AND {continues_sql("s")} AND EXISTS (
  SELECT 1 FROM sessions AS p WHERE p.id = s.parent_session_id AND p.end_reason = 'compression')
"""

_BELOW = """
WITH RECURSIVE scope(id, depth) AS (
  SELECT ?, 0 UNION
  SELECT c.id, depth + 1 FROM scope JOIN sessions AS c ON c.parent_session_id = scope.id
  WHERE depth < ?)
"""

_IN_SCOPE = " AND s.parent_session_id IN (SELECT id FROM scope)"
