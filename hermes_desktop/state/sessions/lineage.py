"""Lineage of sessions: compression chains, branches, and subagents.

All of them use ``parent_session_id``; the marks in ``model_config`` and the parent's end tell which
kind a child is. Every traversal is bounded and safe against cycles. One session is followed by
queries; :class:`Chains` has the continuations of a whole store, read in one query.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.stored_values import as_count, as_seconds, as_title

MAX_STEPS = 100
_MAX_RESUME_STEPS = 32


def marker(name: str, table: str) -> str:
    """Return an SQL expression for a mark in ``model_config``; NULL if the column is not JSON.

    The search for the bare word comes first because parsing is several times slower.
    """
    config = f"{table}.model_config"
    return (
        f"CASE WHEN instr({config}, '{name}') AND json_valid({config}) "
        f"THEN json_extract({config}, '$.{name}') END"
    )


def is_branch_sql(child: str) -> str:
    """Return an SQL condition: the row is a branch by its mark or (older data) its parent's end."""
    return (
        f"({marker('_branched_from', child)} IS NOT NULL OR EXISTS ("
        f"SELECT 1 FROM sessions AS bp WHERE bp.id = {child}.parent_session_id "
        f"AND bp.end_reason = 'branched' AND {child}.started_at >= bp.ended_at))"
    )


def continues_sql(child: str) -> str:
    """Return an SQL condition: this child of a compressed session may be its continuation."""
    return (
        f"{marker('_branched_from', child)} IS NULL AND "
        f"{marker('_delegate_from', child)} IS NULL AND {child}.source <> 'tool'"
    )


_NEXT = f"""
SELECT c.id FROM sessions AS c
WHERE c.parent_session_id = ? AND {continues_sql("c")}
ORDER BY CASE WHEN c.end_reason = 'compression' THEN 0 WHEN c.ended_at IS NULL THEN 1 ELSE 2 END,
  coalesce((SELECT max(m.timestamp) FROM messages AS m WHERE m.session_id = c.id), c.started_at)
    DESC,
  c.started_at DESC, c.id DESC
LIMIT 1
"""

_EARLIEST = f"""
SELECT c.id FROM sessions AS c
WHERE c.parent_session_id = ? AND {continues_sql("c")} AND NOT {is_branch_sql("c")}
ORDER BY c.started_at, c.id LIMIT 1
"""

_CONTINUATIONS = f"""
SELECT c.id, c.started_at FROM sessions AS c WHERE c.parent_session_id = ? AND {continues_sql("c")}
"""

_NEWEST_CHILD = f"""
SELECT c.id FROM sessions AS c WHERE c.parent_session_id = ? AND {continues_sql("c")}
ORDER BY c.started_at DESC, c.id DESC LIMIT 1
"""


def _one(conn: sqlite3.Connection, sql: str, *values: Any) -> Any:
    row = conn.execute(sql, values).fetchone()
    return None if row is None else row[0]


def _end_reason(conn: sqlite3.Connection, session_id: str) -> str | None:
    reason = _one(conn, "SELECT end_reason FROM sessions WHERE id = ?", session_id)
    return reason if isinstance(reason, str) else None


def compression_chain(conn: sqlite3.Connection, session_id: str) -> list[str]:
    """Return the session and its continuations, the tip last."""
    chain = [session_id]
    while len(chain) <= MAX_STEPS and _end_reason(conn, chain[-1]) == "compression":
        child = _one(conn, _NEXT, chain[-1])
        if child is None or child in chain:
            break
        chain.append(child)
    return chain


def compression_tip(conn: sqlite3.Connection, session_id: str) -> str:
    """Return the last continuation of the conversation, or the session itself."""
    return compression_chain(conn, session_id)[-1]


def _ancestors(conn: sqlite3.Connection, session_id: str) -> Iterator[str]:
    seen = {session_id}
    for _ in range(MAX_STEPS):
        parent = _one(
            conn,
            "SELECT p.id FROM sessions AS s JOIN sessions AS p ON p.id = s.parent_session_id "
            "WHERE s.id = ?",
            session_id,
        )
        if parent is None or parent in seen:
            return
        seen.add(parent)
        yield parent
        session_id = parent


def conversation_root(conn: sqlite3.Connection, session_id: str) -> str:
    """Return the oldest ancestor, through children of any kind."""
    root = session_id
    for root in _ancestors(conn, session_id):  # noqa: B007 - the last one is wanted
        pass
    return root


def ancestry(conn: sqlite3.Connection, session_id: str) -> list[str]:
    """Return all ancestors and the session itself, the root first."""
    return [*reversed(list(_ancestors(conn, session_id))), session_id]


def _is_branch(conn: sqlite3.Connection, session_id: str) -> bool:
    sql = f"SELECT {is_branch_sql('s')} FROM sessions AS s WHERE s.id = ?"
    return bool(_one(conn, sql, session_id))


def compression_ancestors(conn: sqlite3.Connection, session_id: str) -> list[str]:
    """Return the earlier segments of the same conversation, the nearest first."""
    found: list[str] = []
    current = session_id
    for parent in _ancestors(conn, session_id):
        if _end_reason(conn, parent) != "compression" or not _may_continue(conn, current):
            break
        found.append(parent)
        current = parent
    return found


def context_sources(conn: sqlite3.Connection, session_id: str) -> list[str]:
    """Return the sessions whose conversation this one continues, the nearest first.

    Those are earlier segments of the same conversation, and the origins of a branch.
    """
    found: list[str] = []
    current = session_id
    for parent in _ancestors(conn, session_id):
        continues = _end_reason(conn, parent) == "compression" and _may_continue(conn, current)
        if not continues and not _is_branch(conn, current):
            break
        found.append(parent)
        current = parent
    return found


def conversation_start(conn: sqlite3.Connection, session_id: str) -> str:
    """Return the first session of a conversation; the session itself if it has no other."""
    return [session_id, *compression_ancestors(conn, session_id)][-1]


def _may_continue(conn: sqlite3.Connection, session_id: str) -> bool:
    sql = f"SELECT {continues_sql('s')} FROM sessions AS s WHERE s.id = ?"
    return bool(_one(conn, sql, session_id))


def compression_lineage(conn: sqlite3.Connection, session_id: str) -> list[str]:
    """Return all segments of the conversation a session belongs to, in order.

    [] for an unknown id; only the id itself for a branch, or where the segments do not lead to it.
    """
    if _one(conn, "SELECT 1 FROM sessions WHERE id = ?", session_id) is None:
        return []
    if _is_branch(conn, session_id):
        return [session_id]
    lineage = [conversation_start(conn, session_id)]
    while len(lineage) <= MAX_STEPS and _end_reason(conn, lineage[-1]) == "compression":
        child = _one(conn, _EARLIEST, lineage[-1])
        if child is None or child in lineage:
            break
        lineage.append(child)
    return lineage if session_id in lineage else [session_id]


def conversation(conn: sqlite3.Connection, session_id: str) -> list[str]:
    """Return every segment of a session's conversation, forks included, the oldest first.

    Unlike :func:`compression_lineage`, which follows one path. [] for an unknown id.
    """
    root = conversation_start(conn, session_id)
    started = _one(conn, "SELECT started_at FROM sessions WHERE id = ?", root)
    if started is None:
        return []
    found = {root: started}
    waiting = [root]
    while waiting:
        current = waiting.pop()
        if _end_reason(conn, current) != "compression":
            continue
        for child, start in conn.execute(_CONTINUATIONS, (current,)).fetchall():
            if child not in found:
                found[child] = start
                waiting.append(child)
    return [root, *sorted((each for each in found if each != root), key=found.__getitem__)]


def resume_target(conn: sqlite3.Connection, session_id: str) -> str:
    """Return the session to resume: the tip, or the deepest newer child that has messages."""
    tip = compression_tip(conn, session_id)
    path = [tip]
    for _ in range(_MAX_RESUME_STEPS):
        child = _one(conn, _NEWEST_CHILD, path[-1])
        if child is None or child in path:
            break
        path.append(child)
    return _deepest_with_messages(conn, path) or tip


def _deepest_with_messages(conn: sqlite3.Connection, path: Sequence[str]) -> str | None:
    for candidate in reversed(path):
        if _one(conn, "SELECT 1 FROM messages WHERE session_id = ? LIMIT 1", candidate):
            return candidate
    return None


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
        for row in cursor.execute(
            scope + _ALL_CONTINUATIONS + (_IN_SCOPE if scope else ""), values
        ):
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


_ALL_CONTINUATIONS = f"""
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


_CONTINUED_PAIRS = f"""
SELECT c.id, p.id FROM sessions AS c JOIN sessions AS p ON p.id = c.parent_session_id
WHERE p.end_reason = 'compression' AND {continues_sql("c")}
"""


def continuations(conn: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return pairs of a session and the compressed one that it continues."""
    return [(row[0], row[1]) for row in conn.execute(_CONTINUED_PAIRS).fetchall()]


def families(conn: sqlite3.Connection, ids: Collection[str]) -> list[str]:
    """Return these sessions with all segments of their conversations, forks included."""
    edges: dict[str, list[str]] = defaultdict(list)
    for child, parent in continuations(conn):
        edges[child].append(parent)
        edges[parent].append(child)
    found = dict.fromkeys(map(clean_text, ids))
    waiting = list(found)
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other not in found:
                found[other] = None
                waiting.append(other)
    return list(found)
