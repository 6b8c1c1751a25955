"""Messages as shown to the user: visible ones only, decoded, in pages.

Pages are cut by row id. The ids of one session are taken from its index (a ``+`` before a column
keeps the planner from scanning the rows of all sessions), then only the rows of the page are read.

The columns by which later versions hide messages are looked up in a subquery. Where a file lacks
one, SQLite resolves the name to the enclosing query's column, whose value means that nothing is
hidden.
"""

import sqlite3
import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from hermes_desktop.core.text.thinking_split import split_thinking
from hermes_desktop.state.records.content_codec import (
    clean_text,
    decode_content,
    decode_json,
    plain_text,
)
from hermes_desktop.state.records.records import Message, SessionMark
from hermes_desktop.state.records.stored_values import as_count, as_seconds, as_text

_SUMMARY_START = "[CONTEXT COMPACTION"
"""Beginning of a summary that replaces earlier messages, as written by both programs."""


def is_shown_sql(alias: str) -> str:
    """Return an SQL condition: the message may be shown to the user."""
    return _unless("display_kind IS 'hidden'", alias)


def is_dialog_sql(alias: str) -> str:
    """Return an SQL condition: the message may be shown, and is part of the dialog, not a summary.

    Only such a message may represent its session.
    """
    summary = f"coalesce({alias}.content, '') LIKE '{_SUMMARY_START}%'"
    return f"NOT {summary} AND " + _unless(
        "display_kind IS 'hidden' OR _compressed_summary IS 1", alias
    )


def _unless(marked: str, alias: str) -> str:
    return (
        "NOT EXISTS (SELECT 1 FROM (SELECT NULL AS display_kind, 0 AS _compressed_summary) AS none "
        f"WHERE (SELECT {marked} FROM main.messages AS own WHERE own.id = {alias}.id))"
    )


_CHUNK = 500
_HIDDEN_ROLE = "session_meta"
_KEPT_COPY = """
EXISTS (
  SELECT 1 FROM messages AS o
  WHERE o.session_id = m.session_id AND o.timestamp = m.timestamp AND o.id < m.id
    AND o.active = 0 AND o.compacted = 1 AND o.role = m.role AND o.content IS m.content
    AND o.tool_calls IS m.tool_calls AND o.tool_call_id IS m.tool_call_id
)
"""
"""A message kept by a compaction is stored twice: the original, and a copy in the new context."""
_NOT_TOLD = f"""
SELECT COUNT(*) FROM messages AS m
WHERE m.session_id = ? AND m.id < ? AND m.active = 0 AND m.compacted = 1
  AND m.role <> '{_HIDDEN_ROLE}' AND m.content NOT LIKE ?
  AND NOT {_KEPT_COPY.strip()}
  AND NOT EXISTS (
    SELECT 1 FROM messages AS k
    WHERE k.session_id = m.session_id AND k.timestamp = m.timestamp AND k.id > m.id
      AND k.active = 1 AND k.role = m.role AND k.content IS m.content
      AND k.tool_calls IS m.tool_calls AND k.tool_call_id IS m.tool_call_id
  )
"""
_SHOWN = (
    f"(m.active = 1 OR m.compacted = 1) AND m.role <> '{_HIDDEN_ROLE}' AND NOT {_KEPT_COPY.strip()}"
    f" AND {is_shown_sql('m')}"
)
_COLUMNS = (
    "m.id, m.session_id, m.role, m.content, m.timestamp, m.tool_calls, m.tool_call_id, "
    "m.tool_name, m.finish_reason, m.reasoning, m.reasoning_content, m.token_count, m.active, "
    "m.compacted, m.observed"
)


def read_page(
    conn: sqlite3.Connection,
    session_id: str,
    *,
    before_id: int | None,
    after_id: int | None,
    limit: int,
) -> list[Message]:
    """Return one page of visible messages in order: after an id, before an id, or the last ones."""
    forward = after_id is not None and before_id is None
    found: list[Message] = []
    edge, step = (after_id if forward else before_id), limit
    while len(found) < limit:
        ids = _ids(
            conn, clean_text(session_id), after_id=after_id, edge=edge, limit=step, forward=forward
        )
        if not ids:
            break
        rows = messages_by_ids(conn, ids, shown_only=True)
        found += rows if forward else reversed(rows)
        edge, step = ids[-1], step * 2  # a long stretch of hidden rows is crossed in few steps
    found = found[:limit]
    return found if forward else found[::-1]


def count_not_told(conn: sqlite3.Connection, session_id: str, before_id: int, mark: str) -> int:
    """Return how many messages a summary replaces in the model's context.

    Args:
        conn: Connection for reading.
        session_id: The session.
        before_id: The summary's row.
        mark: The text summaries begin with; earlier summaries are not counted.
    """
    values = (clean_text(session_id), before_id, f"{mark}%")
    return int(conn.execute(_NOT_TOLD, values).fetchone()[0])


def _ids(
    conn: sqlite3.Connection,
    session_id: str,
    *,
    after_id: int | None,
    edge: int | None,
    limit: int,
    forward: bool,
) -> list[int]:
    conditions, values = ["session_id = ?"], [session_id]  # type: list[str], list[Any]
    if edge is not None:
        conditions.append("+id > ?" if forward else "+id < ?")
        values.append(edge)
    if not forward and after_id is not None:
        conditions.append("+id > ?")
        values.append(after_id)
    rows = conn.execute(
        f"SELECT id FROM messages WHERE {' AND '.join(conditions)} "
        f"ORDER BY +id {'ASC' if forward else 'DESC'} LIMIT ?",
        (*values, limit),
    ).fetchall()
    return [row[0] for row in rows]


def messages_by_ids(
    conn: sqlite3.Connection, ids: Collection[int], *, shown_only: bool = False
) -> list[Message]:
    """Return messages by row id, in order of the ids; missing ones are left out."""
    wanted = sorted(set(ids))
    shown = f" AND {_SHOWN}" if shown_only else ""
    found: list[Message] = []
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        rows = conn.execute(
            f"SELECT {_COLUMNS} FROM messages AS m "
            f"WHERE m.id IN ({', '.join('?' * len(chunk))}){shown} ORDER BY m.id",
            chunk,
        ).fetchall()
        found += map(_message, rows)
    return found


def _message(row: sqlite3.Row) -> Message:
    content = decode_content(row["content"])
    plain = content is None or isinstance(content, str | bytes | int | float)
    reasoning = as_text(row["reasoning"] or row["reasoning_content"] or None)
    if row["role"] == "assistant" and isinstance(content, str):
        # Earlier versions, and other programs, stored reasoning as part of the reply.
        content, thinking = split_thinking(content)
        reasoning = reasoning or thinking or None
    return Message(
        id=row["id"],
        session_id=row["session_id"],
        role=as_text(row["role"]) or "",
        content=plain_text(content),
        timestamp=as_seconds(row["timestamp"]),
        parts=None if plain else content,
        tool_calls=tuple(_calls(decode_json(row["tool_calls"]))),
        tool_call_id=as_text(row["tool_call_id"]),
        tool_name=as_text(row["tool_name"]),
        finish_reason=as_text(row["finish_reason"]),
        reasoning=reasoning,
        token_count=row["token_count"],
        active=bool(row["active"]),
        compacted=bool(row["compacted"]),
        observed=bool(row["observed"]),
    )


def _calls(stored: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(stored, Mapping):
        return (stored,)
    if not isinstance(stored, list):
        return ()
    return (call if isinstance(call, Mapping) else {"value": call} for call in stored)


class SessionMarks:
    """A cache for session marks, which are read often.

    Finding the greatest row id of a long session requires a scan of its index. Row ids only grow,
    so a repeated read checks only the rows added since, and whether the row found before still
    exists. Thread-safe.
    """

    _FAR = 5_000
    """With more new rows than this in all sessions, the index scan is cheaper."""

    _NEAR = 300
    """Checking this many of the newest rows of all sessions costs less than the index scan."""

    _KEPT = 512

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Clear the cache, because the file was replaced."""
        with self._lock:
            self._known.clear()

    def read(self, conn: sqlite3.Connection, session_id: str) -> SessionMark | None:
        """Return the session's current mark; None when it has no row."""
        session_id = clean_text(session_id)
        conn.execute("BEGIN")
        try:
            row = conn.execute(
                "SELECT message_count, rewind_count, (SELECT max(id) FROM messages) "
                "FROM sessions WHERE id = ?",
                (session_id,),
            ).fetchone()
            if row is None:
                return None
            newest = self._newest(conn, session_id, row[2] or 0)
        finally:
            conn.execute("COMMIT")
        return SessionMark(as_count(row[0]), as_count(row[1]), newest)

    def _newest(self, conn: sqlite3.Connection, session_id: str, highest: int) -> int:
        with self._lock:
            seen, newest = self._known.get(session_id, (-1, 0))
        known = 0 <= seen <= highest <= seen + self._FAR
        # A session that is read for the first time has often just been written to.
        edge = seen if known else highest - self._NEAR
        found = conn.execute(
            "SELECT max(id) FROM messages WHERE id > ? AND +session_id = ?", (edge, session_id)
        ).fetchone()[0]
        if found is None and known and self._stands(conn, session_id, newest):
            found = newest
        if found is None:
            found = conn.execute(
                "SELECT max(+id) FROM messages WHERE session_id = ?", (session_id,)
            ).fetchone()[0]
        with self._lock:
            if len(self._known) >= self._KEPT:
                self._known.clear()
            self._known[session_id] = (highest, found or 0)
        return found or 0

    @staticmethod
    def _stands(conn: sqlite3.Connection, session_id: str, newest: int) -> bool:
        row = conn.execute(
            "SELECT 1 FROM messages WHERE id = ? AND session_id = ?", (newest, session_id)
        ).fetchone()
        return row is not None
