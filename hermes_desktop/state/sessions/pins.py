"""Pinned sessions: which ones are pinned, and where that is stored.

Newer releases of Hermes have a column for it. In a file without that column the pins are stored in
desktop.db, which no other program reads. A pin applies to a whole conversation, that is, to all
segments created by compression; branches and subagents have pins of their own.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping

from hermes_desktop.state.records.stored_rows import chunks, columns, marks
from hermes_desktop.state.sessions import lineage

DDL = ("CREATE TABLE pins (session_id TEXT PRIMARY KEY, pinned_at REAL NOT NULL)",)


def has_column(conn: sqlite3.Connection) -> bool:
    """Return whether the shared file stores pins itself."""
    return "pinned" in columns(conn, "sessions")


def not_pinned_sql(conn: sqlite3.Connection) -> str:
    """Return an SQL condition: the session ``s`` is not pinned in the shared file."""
    return "coalesce(s.pinned, 0) = 0" if has_column(conn) else "1"


def in_own_store(own: sqlite3.Connection) -> frozenset[str]:
    """Return the sessions that are pinned in desktop.db."""
    return frozenset(row[0] for row in own.execute("SELECT session_id FROM pins").fetchall())


def pinned_conversations(conn: sqlite3.Connection, own_pins: Collection[str]) -> frozenset[str]:
    """Return every segment of every pinned conversation.

    Args:
        conn: The shared file.
        own_pins: The result of :func:`in_own_store`.
    """
    found = set(own_pins)
    if has_column(conn):
        rows = conn.execute("SELECT id FROM sessions WHERE coalesce(pinned, 0) <> 0").fetchall()
        found.update(row[0] for row in rows)
    return frozenset(lineage.families(conn, found)) if found else frozenset()


def set_column(conn: sqlite3.Connection, ids: Collection[str], *, pinned: bool) -> int:
    """Pin or unpin sessions in the shared file. Returns how many were changed."""
    changed = 0
    for chunk in chunks(list(ids)):
        changed += conn.execute(
            f"UPDATE sessions SET pinned = ? WHERE id IN ({marks(chunk)}) "
            "AND (coalesce(pinned, 0) <> 0) <> ?",
            (int(pinned), *chunk, int(pinned)),
        ).rowcount
    return changed


def add(own: sqlite3.Connection, ids: Iterable[str], now: float) -> int:
    """Pin sessions in desktop.db. Returns how many were not pinned there before."""
    before = own.total_changes
    own.executemany(
        "INSERT OR IGNORE INTO pins (session_id, pinned_at) VALUES (?, ?)",
        [(each, now) for each in ids],
    )
    return own.total_changes - before


def remove(own: sqlite3.Connection, ids: Iterable[str]) -> int:
    """Unpin sessions in desktop.db. Returns how many were pinned there."""
    before = own.total_changes
    own.executemany("DELETE FROM pins WHERE session_id = ?", [(each,) for each in ids])
    return own.total_changes - before


def follow(own: sqlite3.Connection, new_ids: Mapping[str, str]) -> None:
    """Pin sessions that were restored under another id, where the old id is pinned."""
    own.executemany(
        "INSERT OR IGNORE INTO pins (session_id, pinned_at) "
        "SELECT ?, pinned_at FROM pins WHERE session_id = ?",
        [(new, old) for old, new in new_ids.items() if new != old],
    )
