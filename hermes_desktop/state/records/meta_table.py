"""Key-value entries of the ``state_meta`` table. Keys of other programs are never modified."""

import sqlite3

from hermes_desktop.state.records.content_codec import clean_text


def get(conn: sqlite3.Connection, key: str) -> str | None:
    """Return the value stored under a key, None if there is none."""
    row = conn.execute("SELECT value FROM state_meta WHERE key = ?", (clean_text(key),)).fetchone()
    return None if row is None else row[0]


def put(conn: sqlite3.Connection, key: str, value: str) -> None:
    """Store a text under a key, replacing the previous value."""
    conn.execute(
        "INSERT INTO state_meta (key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (clean_text(key), clean_text(str(value))),
    )
