"""Turns of newer releases of ``hermes``, which say in the shared file that they run. Only read."""

import sqlite3
from collections.abc import Collection

from hermes_desktop.core.files.lock_holder import pid_of, runs_here


def holder_of(conn: sqlite3.Connection, ids: Collection[str], now: float) -> str | None:
    """Who runs a turn in one of these sessions by a lease that has not expired; None: nobody.

    Args:
        conn: The shared file.
        ids: All sessions of the conversation.
        now: Epoch seconds.
    """
    wanted = list(ids)
    marks = ",".join("?" * len(wanted))
    try:
        rows = conn.execute(
            "SELECT holder FROM session_turn_leases "
            f"WHERE expires_at > ? AND conversation_id IN ({marks}) ORDER BY expires_at DESC",
            (now, *wanted),
        ).fetchall()
    except sqlite3.OperationalError:  # older files have no such table
        return None
    return str(rows[0][0]) if rows else None


def holder_words(holder: str) -> str:
    """A holder for a person."""
    pid = pid_of(holder)
    return f"hermes (process {pid})" if pid is not None and runs_here(holder) else "hermes"
