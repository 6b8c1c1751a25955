"""Hand-offs of conversations from the terminal to a chat: request, claim, and outcome."""

import sqlite3
from typing import Any

from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import SessionRow

MOST_ERROR_CHARS = 500


def request(conn: sqlite3.Connection, session_id: str, platform: str) -> bool:
    """Request a hand-off. False: no such session, or one is already in progress."""
    done = conn.execute(
        "UPDATE sessions SET handoff_state = 'pending', handoff_platform = ?, handoff_error = NULL "
        "WHERE id = ? AND (handoff_state IS NULL OR handoff_state IN ('completed', 'failed'))",
        (clean_text(platform), clean_text(session_id)),
    )
    return done.rowcount > 0


def state(conn: sqlite3.Connection, session_id: str) -> dict[str, Any] | None:
    """Return state, platform and error; None for an unknown session."""
    row = conn.execute(
        "SELECT handoff_state AS state, handoff_platform AS platform, handoff_error AS error "
        "FROM sessions WHERE id = ?",
        (clean_text(session_id),),
    ).fetchone()
    return None if row is None else dict(row)


def pending(conn: sqlite3.Connection) -> list[SessionRow]:
    """Return sessions that wait for a gateway, the oldest first."""
    rows = conn.execute(
        "SELECT * FROM sessions WHERE handoff_state = 'pending' ORDER BY started_at, id"
    )
    return [dict(row) for row in rows.fetchall()]


def claim(conn: sqlite3.Connection, session_id: str) -> bool:
    """Claim a hand-off. True for exactly one of several callers."""
    done = conn.execute(
        "UPDATE sessions SET handoff_state = 'running' WHERE id = ? AND handoff_state = 'pending'",
        (clean_text(session_id),),
    )
    return done.rowcount > 0


def finish(conn: sqlite3.Connection, session_id: str, error: str | None) -> None:
    """Record the outcome: completed, or failed with this error (truncated to 500 characters)."""
    outcome = "completed" if error is None else "failed"
    words = None if error is None else clean_text(error)[:MOST_ERROR_CHARS]
    conn.execute(
        "UPDATE sessions SET handoff_state = ?, handoff_error = ? WHERE id = ?",
        (outcome, words, clean_text(session_id)),
    )
