"""The mapping between sessions and chats of messaging platforms."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from hermes_desktop.state.records.content_codec import bindable, clean_text
from hermes_desktop.state.records.records import SessionRow

_ADDRESS = ("source", "user_id", "session_key", "chat_id", "chat_type", "thread_id")
_KEPT_IF_BLANK = ("display_name", "origin_json")
RECOVERABLE = ("agent_close", "ws_orphan_reap")
"""Ends without a user's decision; the next message of the chat continues such a session."""


def record(conn: sqlite3.Connection, session_id: str, peer: Mapping[str, Any]) -> bool:
    """Store a session's chat: the address is overwritten, name and origin only by new values.

    Returns:
        False when nothing was stored: no key, or no such session.
    """
    if not peer.get("session_key"):
        return False
    parts = [f"{name} = ?" for name in _ADDRESS]
    parts += [f"{name} = coalesce(?, {name})" for name in _KEPT_IF_BLANK]
    values = [bindable(peer.get(name)) for name in (*_ADDRESS, *_KEPT_IF_BLANK)]
    done = conn.execute(
        f"UPDATE sessions SET {', '.join(parts)} WHERE id = ?", (*values, clean_text(session_id))
    )
    return done.rowcount > 0


def newest_by_key(
    conn: sqlite3.Connection, platform: str | None, *, active_only: bool
) -> list[SessionRow]:
    """Return the newest session of each routing key, the latest start first.

    Args:
        conn: Any connection.
        platform: Only this one, ignoring case; None for all.
        active_only: Leave out keys whose newest session has ended.
    """
    conditions, values = ["s.session_key IS NOT NULL", "s.session_key <> ''"], []  # type: list[str], list[str]
    if platform is not None:
        conditions.append("lower(s.source) = lower(?)")
        values.append(clean_text(platform))
    if active_only:
        conditions.append("s.ended_at IS NULL")
    rows = conn.execute(
        "SELECT s.*, coalesce((SELECT max(m.timestamp) FROM messages AS m "
        "WHERE m.session_id = s.id), s.started_at) AS last_active "
        f"FROM sessions AS s WHERE {' AND '.join(conditions)} AND NOT EXISTS ("
        "SELECT 1 FROM sessions AS n WHERE n.session_key = s.session_key "
        "AND (n.started_at, n.id) > (s.started_at, s.id)) "
        "ORDER BY s.started_at DESC, s.id DESC",
        values,
    ).fetchall()
    return [dict(row) for row in rows]


def find_by_origin(
    conn: sqlite3.Connection,
    *,
    platform: str,
    chat_id: str,
    thread_id: str | None,
    user_id: str | None,
) -> str | None:
    """Return the open session of a chat; None if it is ambiguous which user is meant."""
    if not chat_id:
        return None
    thread = "" if thread_id is None else " AND thread_id = ?"
    values = (platform, chat_id) if thread_id is None else (platform, chat_id, thread_id)
    rows = conn.execute(
        "SELECT id, user_id FROM sessions WHERE lower(source) = lower(?) AND chat_id = ? "
        f"AND ended_at IS NULL{thread} ORDER BY started_at DESC, id DESC",
        [clean_text(str(value)) for value in values],
    ).fetchall()
    if user_id:
        own = [row[0] for row in rows if row[1] == clean_text(str(user_id))]
        if own or len(rows) > 1:
            return own[0] if own else None
    elif len({row[1] for row in rows if row[1] is not None}) > 1:
        return None
    return rows[0][0] if rows else None


def latest_of_peer(conn: sqlite3.Connection, peer: Mapping[str, Any]) -> SessionRow | None:
    """Return the newest session with messages that a chat may continue: by key, else by address."""
    if not peer.get("session_key"):
        return None
    address = ("user_id", "chat_id", "chat_type", "thread_id")
    found = _latest(conn, peer, ("session_key",))
    if found is None and any(peer.get(name) for name in address):
        found = _latest(conn, peer, address)
    return found


def _latest(
    conn: sqlite3.Connection, peer: Mapping[str, Any], names: tuple[str, ...]
) -> SessionRow | None:
    same = " AND ".join(f"s.{name} IS ?" for name in names)
    marks = ", ".join("?" * len(RECOVERABLE))
    row = conn.execute(
        f"SELECT s.* FROM sessions AS s WHERE s.source = ? AND {same} "
        f"AND (s.ended_at IS NULL OR s.end_reason IN ({marks})) "
        "AND EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id) "
        "ORDER BY s.started_at DESC, s.id DESC LIMIT 1",
        (bindable(peer.get("source")), *(bindable(peer.get(n)) for n in names), *RECOVERABLE),
    ).fetchone()
    return None if row is None else dict(row)
