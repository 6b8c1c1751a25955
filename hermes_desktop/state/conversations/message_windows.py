"""Messages around a given message, and the most recent user messages."""

import sqlite3
from collections.abc import Collection
from typing import Any

from hermes_desktop.state.conversations import messages_table
from hermes_desktop.state.records.content_codec import (
    clean_text,
    decode_content,
    encode_content,
    plain_text,
)

PREVIEW_CHARS = 80
_SPEAKERS = ("user", "assistant")
_NOTHING: dict[str, Any] = {"window": [], "messages_before": 0, "messages_after": 0}


def around(conn: sqlite3.Connection, session_id: str, message_id: int, size: int) -> dict[str, Any]:
    """Return a message with at most ``size`` before and after it, whether active or not.

    Returns:
        ``window`` (decoded rows in order), ``messages_before`` and ``messages_after``: how many of
        them are on either side. Empty when the message is not in the session.
    """
    session_id = clean_text(session_id)
    row = conn.execute(
        "SELECT * FROM messages WHERE id = ? AND session_id = ?", (message_id, session_id)
    ).fetchone()
    if row is None:
        return {**_NOTHING, "window": []}
    before = _beside(conn, session_id, message_id, size, forward=False)
    after = _beside(conn, session_id, message_id, size, forward=True)
    window = [messages_table.decoded(each) for each in (*reversed(before), row, *after)]
    return {"window": window, "messages_before": len(before), "messages_after": len(after)}


def _beside(
    conn: sqlite3.Connection, session_id: str, message_id: int, size: int, *, forward: bool
) -> list[sqlite3.Row]:
    side, order = (">", "ASC") if forward else ("<", "DESC")
    return conn.execute(
        f"SELECT * FROM messages WHERE session_id = ? AND +id {side} ? "
        f"ORDER BY +id {order} LIMIT ?",
        (session_id, message_id, max(0, size)),
    ).fetchall()


def anchored(
    conn: sqlite3.Connection,
    session_id: str,
    message_id: int,
    *,
    size: int,
    bookend: int,
    keep_roles: Collection[str] | None,
) -> dict[str, Any]:
    """Return the same as :func:`around`, with the beginning and the end of the conversation.

    Args:
        conn: Any connection.
        session_id: The session.
        message_id: The message in the middle; it is included whatever its role.
        size: How many messages on either side.
        bookend: How many of the first and of the last spoken messages, outside the window.
        keep_roles: Roles included in the window; None for all.
    """
    view = around(conn, session_id, message_id, size)
    window = view["window"]
    if not window:
        return {**view, "bookend_start": [], "bookend_end": []}
    edges = window[0]["id"], window[-1]["id"]
    if keep_roles is not None:
        view["window"] = [
            each for each in window if each["id"] == message_id or each["role"] in keep_roles
        ]
    first = _spoken(conn, session_id, ("<", edges[0]), "ASC", bookend)
    last = _spoken(conn, session_id, (">", edges[1]), "DESC", bookend)
    return {**view, "bookend_start": first, "bookend_end": last[::-1]}


def _spoken(
    conn: sqlite3.Connection, session_id: str, side: tuple[str, int], order: str, limit: int
) -> list[dict[str, Any]]:
    rows = conn.execute(
        f"SELECT * FROM messages WHERE session_id = ? AND +id {side[0]} ? AND role IN (?, ?) "
        f"AND content IS NOT NULL AND content <> '' ORDER BY +id {order} LIMIT ?",
        (clean_text(session_id), side[1], *_SPEAKERS, max(0, limit)),
    ).fetchall()
    return [messages_table.decoded(row) for row in rows]


def recent_user_messages(
    conn: sqlite3.Connection, session_id: str, limit: int, *, include_inactive: bool
) -> list[dict[str, Any]]:
    """Return id, time and beginning of the last user messages, the newest first."""
    active = "" if include_inactive else " AND active = 1"
    rows = conn.execute(
        "SELECT id, timestamp, content FROM messages "
        f"WHERE session_id = ? AND role = 'user'{active} ORDER BY +id DESC LIMIT ?",
        (clean_text(session_id), limit),
    ).fetchall()
    return [{"id": row[0], "timestamp": row[1], "preview": _preview(row[2])} for row in rows]


def _preview(stored: Any) -> str:
    text = plain_text(decode_content(stored))
    line = " ".join(text[: PREVIEW_CHARS * 20].split())
    return line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 3] + "..."


def set_sent_text(conn: sqlite3.Connection, session_id: str, content: Any, sent: str) -> int:
    """Store the text really sent to the model for the last user message, if its content matches.

    Returns:
        1, or 0 when the last active user message has another content.
    """
    row = conn.execute(
        "SELECT id, content FROM messages WHERE session_id = ? AND role = 'user' AND active = 1 "
        "ORDER BY +id DESC LIMIT 1",
        (clean_text(session_id),),
    ).fetchone()
    if row is None or row[1] != encode_content(content):
        return 0
    conn.execute("UPDATE messages SET api_content = ? WHERE id = ?", (clean_text(sent), row[0]))
    return 1
