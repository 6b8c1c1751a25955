"""Turn leases with which newer releases of ``hermes`` mark a running turn in the shared file.

They are only read.
"""

import sqlite3
from collections.abc import Collection

from hermes_desktop.core.files.lock_holder import pid_of, runs_here


def holder_of(conn: sqlite3.Connection, ids: Collection[str], now: float) -> str | None:
    """Return the holder of an unexpired turn lease on one of these sessions, None without one.

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
    except sqlite3.OperationalError:  # older files do not have the table
        return None
    return str(rows[0][0]) if rows else None


def holder_label(holder: str) -> str:
    """Return the display name of a holder."""
    pid = pid_of(holder)
    return f"hermes (process {pid})" if pid is not None and runs_here(holder) else "hermes"
