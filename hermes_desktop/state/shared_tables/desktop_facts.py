"""Key-value entries in desktop.db, such as the time when old sessions were last deleted."""

import sqlite3

DDL = ("CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",)


def get(own: sqlite3.Connection, name: str) -> str | None:
    """Return the text stored under a name, None if there is none."""
    row = own.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def put(own: sqlite3.Connection, name: str, value: str) -> None:
    """Store a text under a name, replacing the previous one."""
    own.execute(
        "INSERT INTO facts (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )
