"""Export of sessions as plain objects that can be written to a file and imported again."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from hermes_desktop.state.conversations import messages_table
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import SessionRow
from hermes_desktop.state.sessions import lineage, session_list, sessions_table

MOST_SESSIONS = 100_000


def export_row(conn: sqlite3.Connection, row: SessionRow) -> dict[str, Any]:
    """Return all columns of a session, and its active messages decoded."""
    messages = messages_table.select(conn, [row["id"]], include_inactive=False)
    decoded = [_readable(messages_table.decoded(message)) for message in messages]
    return {**_readable(row), "messages": decoded}


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with bytes as text, because bytes are not valid in JSON."""
    return {
        name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def export_one(conn: sqlite3.Connection, session_id: str) -> dict[str, Any] | None:
    """Return a consistent snapshot of one session; None if there is none."""
    conn.execute("BEGIN")
    try:
        row = sessions_table.get(conn, session_id)
        return None if row is None else export_row(conn, row)
    finally:
        conn.execute("COMMIT")


def export_lineage(conn: sqlite3.Connection, session_id: str) -> dict[str, Any] | None:
    """Return a conversation with all its segments: the last one's columns, all messages."""
    ids = lineage.compression_lineage(conn, clean_text(session_id))
    segments = [found for each in ids if (found := export_one(conn, each)) is not None]
    if not segments:
        return None
    messages = [message for segment in segments for message in segment["messages"]]
    return {
        **segments[-1],
        "message_count": len(messages),
        "messages": messages,
        "segments": segments,
        "lineage_session_ids": [segment["id"] for segment in segments],
    }


def ids_by_activity(conn: sqlite3.Connection, source: str | None) -> list[str]:
    """Return every session, children and archived ones too, the latest activity first."""
    rows = session_list.recent_rows(conn, source, MOST_SESSIONS, 0)
    return [row["id"] for row in rows]


def with_last_active(conn: sqlite3.Connection, ids: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield sessions by id, each with the time of its latest message; missing ones are left out."""
    for session_id in ids:
        found = export_one(conn, session_id)
        if found is None:
            continue
        row = conn.execute(
            "SELECT max(timestamp) FROM messages WHERE session_id = ?", (session_id,)
        ).fetchone()
        messages = found.pop("messages")
        last = found["started_at"] if row[0] is None else row[0]
        yield {**found, "last_active": last, "messages": messages}
