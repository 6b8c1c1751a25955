"""The table of persistent window state in desktop.db: drafts, and the last open session.

Statements only.
"""

import sqlite3
from collections.abc import Mapping

from hermes_desktop.state.records.content_codec import clean_text

DDL = """
    CREATE TABLE window_state (
      name TEXT PRIMARY KEY,
      value TEXT NOT NULL,
      changed_at REAL NOT NULL
    )
    """

_MOST_ROWS = 500
"""Drafts of long deleted sessions are replaced by newer ones."""


def read_all(conn: sqlite3.Connection) -> dict[str, str]:
    """Return all values by name."""
    return dict(conn.execute("SELECT name, value FROM window_state").fetchall())


def put_all(conn: sqlite3.Connection, values: Mapping[str, str], now: float) -> None:
    """Store values by name; an empty one is removed."""
    conn.executemany(
        "INSERT OR REPLACE INTO window_state (name, value, changed_at) VALUES (?, ?, ?)",
        [(clean_text(name), clean_text(value), now) for name, value in values.items()],
    )
    conn.execute("DELETE FROM window_state WHERE value = ''")
    conn.execute(
        "DELETE FROM window_state WHERE name NOT IN "
        "(SELECT name FROM window_state ORDER BY changed_at DESC LIMIT ?)",
        (_MOST_ROWS,),
    )
