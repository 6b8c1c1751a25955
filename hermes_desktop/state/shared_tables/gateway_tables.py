"""The gateway's rows in the shared file: hand-offs, and the routing of chats to sessions.

A hand-off moves a conversation from the terminal to a chat: request, claim, and outcome. A row of
``gateway_routing`` names the session that receives a chat's messages. A scope is the resolved path
of a sessions folder. Rows that were not read or could not be parsed stay as they are: only keys
that the caller names are written or deleted.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping
from typing import Any

from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import SessionRow

MOST_ERROR_CHARS = 500


def request_handoff(conn: sqlite3.Connection, session_id: str, platform: str) -> bool:
    """Request a hand-off. False: no such session, or one is already in progress."""
    done = conn.execute(
        "UPDATE sessions SET handoff_state = 'pending', handoff_platform = ?, handoff_error = NULL "
        "WHERE id = ? AND (handoff_state IS NULL OR handoff_state IN ('completed', 'failed'))",
        (clean_text(platform), clean_text(session_id)),
    )
    return done.rowcount > 0


def handoff_state(conn: sqlite3.Connection, session_id: str) -> dict[str, Any] | None:
    """Return state, platform and error; None for an unknown session."""
    row = conn.execute(
        "SELECT handoff_state AS state, handoff_platform AS platform, handoff_error AS error "
        "FROM sessions WHERE id = ?",
        (clean_text(session_id),),
    ).fetchone()
    return None if row is None else dict(row)


def pending_handoffs(conn: sqlite3.Connection) -> list[SessionRow]:
    """Return sessions that wait for a gateway, the oldest first."""
    rows = conn.execute(
        "SELECT * FROM sessions WHERE handoff_state = 'pending' ORDER BY started_at, id"
    )
    return [dict(row) for row in rows.fetchall()]


def claim_handoff(conn: sqlite3.Connection, session_id: str) -> bool:
    """Claim a hand-off. True for exactly one of several callers."""
    done = conn.execute(
        "UPDATE sessions SET handoff_state = 'running' WHERE id = ? AND handoff_state = 'pending'",
        (clean_text(session_id),),
    )
    return done.rowcount > 0


def finish_handoff(conn: sqlite3.Connection, session_id: str, error: str | None) -> None:
    """Record the outcome: completed, or failed with this error (truncated to 500 characters)."""
    outcome = "completed" if error is None else "failed"
    words = None if error is None else clean_text(error)[:MOST_ERROR_CHARS]
    conn.execute(
        "UPDATE sessions SET handoff_state = ?, handoff_error = ? WHERE id = ?",
        (outcome, words, clean_text(session_id)),
    )


Entry = str | Mapping[str, Any]
"""A routing entry: JSON text, or the mapping to encode."""


def load_routing(conn: sqlite3.Connection, scope: str) -> dict[str, str]:
    """Return all entries of a scope as stored, by key."""
    rows = conn.execute(
        "SELECT session_key, entry_json FROM gateway_routing WHERE scope = ? ORDER BY session_key",
        (clean_text(scope),),
    )
    return {row[0]: row[1] for row in rows.fetchall()}


def encode_entry(entry: Entry) -> str:
    """Return the text of an entry."""
    return clean_text(entry) if isinstance(entry, str) else json.dumps(dict(entry))


def save_routing(
    conn: sqlite3.Connection,
    scope: str,
    changed: Mapping[str, Entry],
    removed: Collection[str],
    now: float,
) -> int:
    """Write changes only: store these entries, delete those keys, and leave all others.

    An entry that is already stored with the same text is not written again.

    Returns:
        How many rows were written or deleted.
    """
    scope = clean_text(scope)
    stored = load_routing(conn, scope)
    entries = {clean_text(key): encode_entry(entry) for key, entry in changed.items()}
    fresh = {key: text for key, text in entries.items() if stored.get(key) != text}
    gone = [key for key in map(clean_text, removed) if key in stored and key not in entries]
    conn.executemany(
        "INSERT INTO gateway_routing (scope, session_key, entry_json, updated_at) "
        "VALUES (?, ?, ?, ?) ON CONFLICT (scope, session_key) DO UPDATE SET "
        "entry_json = excluded.entry_json, updated_at = excluded.updated_at",
        [(scope, key, text, now) for key, text in fresh.items()],
    )
    conn.executemany(
        "DELETE FROM gateway_routing WHERE scope = ? AND session_key = ?",
        [(scope, key) for key in gone],
    )
    return len(fresh) + len(gone)
