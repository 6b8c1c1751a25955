"""Compression locks, and the cooldown after a failed compression.

Two programs that compress one conversation would fork it: no lock, no compression. A lock expires
when it is not refreshed in time, or when its holder is known for certain to be gone.
"""

import sqlite3
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.files.lock_holder import is_gone
from hermes_desktop.state.records.content_codec import bindable, clean_text

LIFETIME_S = 300.0


@dataclass(frozen=True, slots=True)
class CompressionLock:
    """A held compression lock. Times in epoch seconds."""

    holder: str
    acquired_at: float
    expires_at: float


def acquire(
    conn: sqlite3.Connection, session_id: str, holder: str, now: float, lifetime_s: float
) -> bool:
    """Acquire or re-acquire the lock; an expired one, or one whose holder is gone, is removed."""
    session_id, holder = clean_text(session_id), clean_text(holder)
    if not session_id or not holder:
        return False
    if held(conn, session_id, now) is None:
        conn.execute("DELETE FROM compression_locks WHERE session_id = ?", (session_id,))
    conn.execute(
        "INSERT INTO compression_locks (session_id, holder, acquired_at, expires_at) "
        "VALUES (?, ?, ?, ?) ON CONFLICT (session_id) DO NOTHING",
        (session_id, holder, now, now + lifetime_s),
    )
    row = conn.execute(
        "SELECT holder FROM compression_locks WHERE session_id = ?", (session_id,)
    ).fetchone()
    return bool(row is not None and row[0] == holder)


def refresh(
    conn: sqlite3.Connection, session_id: str, holder: str, now: float, lifetime_s: float
) -> bool:
    """Extend the lock. False: it is not held by this holder (any more), or it has expired."""
    done = conn.execute(
        "UPDATE compression_locks SET expires_at = ? "
        "WHERE session_id = ? AND holder = ? AND expires_at >= ?",
        (now + lifetime_s, clean_text(session_id), clean_text(holder), now),
    )
    return done.rowcount > 0


def release(conn: sqlite3.Connection, session_id: str, holder: str) -> None:
    """Release the lock; a lock of another holder is left."""
    conn.execute(
        "DELETE FROM compression_locks WHERE session_id = ? AND holder = ?",
        (clean_text(session_id), clean_text(holder)),
    )


def held(conn: sqlite3.Connection, session_id: str, now: float) -> CompressionLock | None:
    """Return the lock of a session, None if it is not held (any more)."""
    row = conn.execute(
        "SELECT holder, acquired_at, expires_at FROM compression_locks "
        "WHERE session_id = ? AND expires_at >= ?",
        (clean_text(session_id), now),
    ).fetchone()
    return None if row is None or is_gone(str(row[0])) else CompressionLock(*row)


def holder_of(conn: sqlite3.Connection, session_id: str, now: float) -> str | None:
    """Return the holder of the lock, None if it is not held (any more)."""
    found = held(conn, session_id, now)
    return None if found is None else found.holder


def set_cooldown(
    conn: sqlite3.Connection, session_id: str, until: float | None, error: str | None
) -> None:
    """Record that compression failed and when it may be retried; None clears the record."""
    conn.execute(
        "UPDATE sessions SET compression_failure_cooldown_until = ?, "
        "compression_failure_error = ? WHERE id = ?",
        (until, bindable(error), clean_text(session_id)),
    )


def cooldown(conn: sqlite3.Connection, session_id: str, now: float) -> dict[str, Any] | None:
    """Return the end of the cooldown, the seconds left and the error; None without a cooldown."""
    row = conn.execute(
        "SELECT compression_failure_cooldown_until, compression_failure_error "
        "FROM sessions WHERE id = ?",
        (clean_text(session_id),),
    ).fetchone()
    if row is None or row[0] is None or row[0] <= now:
        return None
    return {"cooldown_until": row[0], "remaining_seconds": row[0] - now, "error": row[1]}
