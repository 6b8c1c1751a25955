"""Stored replies and prompts of a conversation, looked up by the row with which a turn began."""

import sqlite3
from collections.abc import Sequence

from hermes_desktop.state.records.content_codec import clean_text, decode_content
from hermes_desktop.state.sessions import lineage


def reply_after(
    conn: sqlite3.Connection, session_id: str, after_row: int, message_id: str | None
) -> str | None:
    """Return the finished reply with which a conversation ends, if it was added after a row.

    With a message of the platform: only if it can only answer that message.
    """
    rows = _rows_after(conn, session_id, after_row)
    last = rows[-1] if rows and rows[-1]["id"] > after_row else None
    if last is None or last["role"] != "assistant" or last["tool_calls"]:
        return None
    if message_id is not None and not _is_answered_by(rows, message_id):
        return None
    content = decode_content(last["content"])
    return content if isinstance(content, str) and content.strip() else None


def prompt_after(
    conn: sqlite3.Connection, session_id: str, after_row: int, message_id: str | None
) -> bool:
    """Return whether a platform's message was added after a row; without an id, any prompt."""
    rows = [row for row in _rows_after(conn, session_id, after_row) if row["id"] > after_row]
    if message_id is None:
        return any(row["role"] == "user" for row in rows)
    return any(_is_message(row, message_id) for row in rows)


def _rows_after(conn: sqlite3.Connection, session_id: str, after_row: int) -> list[sqlite3.Row]:
    """Return what was written since a turn began, also in the session's continuation.

    The first row is the one that was the last when the turn began.
    """
    wanted = clean_text(session_id)
    last = lineage.compression_tip(conn, wanted) or wanted
    names = "id, role, content, tool_calls, platform_message_id"
    of_it = "session_id IN (?, ?) AND (active = 1 OR compacted = 1) AND role <> 'session_meta'"
    before = conn.execute(
        f"SELECT {names} FROM messages WHERE {of_it} AND id <= ? ORDER BY id DESC LIMIT 1",
        (wanted, last, after_row),
    ).fetchall()
    found = conn.execute(
        f"SELECT {names} FROM messages WHERE {of_it} AND id > ? ORDER BY id",
        (wanted, last, after_row),
    ).fetchall()
    return [*before, *found]


def _is_answered_by(rows: Sequence[sqlite3.Row], message_id: str | None) -> bool:
    """Return whether the last reply of a conversation can only answer this message.

    That is so if no message was unanswered when it came, and no user message followed it.
    """
    asked = [at for at, row in enumerate(rows) if _is_message(row, message_id)]
    if not asked or any(row["role"] == "user" for row in rows[asked[-1] + 1 :]):
        return False
    before = rows[asked[-1] - 1] if asked[-1] else None
    return before is None or (before["role"] == "assistant" and not before["tool_calls"])


def is_overtaken(
    conn: sqlite3.Connection, session_id: str, after_row: int, message_id: str | None
) -> bool:
    """Return whether a message is stored, but the last reply may answer another one."""
    rows = _rows_after(conn, session_id, after_row)
    known = any(_is_message(row, message_id) for row in rows)
    return known and not _is_answered_by(rows, message_id)


def _is_message(row: sqlite3.Row, message_id: str | None) -> bool:
    return message_id is not None and row["platform_message_id"] == clean_text(message_id)


def chat_has_message(conn: sqlite3.Connection, session_key: str, message_id: str) -> bool:
    """Return whether a message is stored in one of the latest sessions of a chat."""
    row = conn.execute(
        "SELECT 1 FROM (SELECT id FROM sessions WHERE session_key = ? "
        "ORDER BY started_at DESC LIMIT 20) AS latest JOIN messages AS m "
        "ON m.session_id = latest.id AND m.platform_message_id = ? LIMIT 1",
        (clean_text(session_key), clean_text(message_id)),
    ).fetchone()
    return row is not None
