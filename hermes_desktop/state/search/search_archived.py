"""Detection of sessions that belong to archived conversations.

As in the list, the oldest row of a conversation decides. A subagent is in no list; it is treated
like the session it worked for.
"""

import sqlite3

from hermes_desktop.state.sessions import lineage

_FACTS = f"""
SELECT coalesce(s.archived, 0) <> 0, {lineage.marker("_delegate_from", "s")} IS NOT NULL,
  s.parent_session_id
FROM sessions AS s WHERE s.id = ?
"""


class Archive:
    """A cache of which sessions are archived, for one search. Used on one thread."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def is_known_archived(self, session_id: str) -> bool:
        """Return whether this session is already known to be archived."""
        return self._known.get(session_id, False)

    def holds(self, conn: sqlite3.Connection, session_id: str) -> bool:
        """Return whether this session belongs to an archived conversation."""
        known = self._known.get(session_id)
        if known is None:
            known = self._known[session_id] = _is_archived(conn, session_id)
        return known

    def everything(self, conn: sqlite3.Connection) -> list[str]:
        """Return all archived sessions.

        Reads every session's row: tens of milliseconds in a large home.
        """
        rows = conn.execute("SELECT id FROM sessions WHERE archived <> 0").fetchall()
        waiting = [row[0] for row in rows if self.holds(conn, row[0])]
        found = dict.fromkeys(waiting)
        while waiting:
            below = conn.execute(
                "SELECT id FROM sessions WHERE parent_session_id = ?", (waiting.pop(),)
            ).fetchall()
            fresh = [row[0] for row in below if row[0] not in found and self.holds(conn, row[0])]
            found.update(dict.fromkeys(fresh))
            waiting += fresh
        return list(found)


def _is_archived(conn: sqlite3.Connection, session_id: str | None) -> bool:
    seen: set[str] = set()
    while session_id is not None and session_id not in seen and len(seen) < lineage.MAX_STEPS:
        seen.add(session_id)
        root = [session_id, *lineage.compression_ancestors(conn, session_id)][-1]
        archived, is_subagent, parent = conn.execute(_FACTS, (root,)).fetchone() or (0, 0, None)
        if archived:
            return True
        session_id = parent if is_subagent else None
    return False
