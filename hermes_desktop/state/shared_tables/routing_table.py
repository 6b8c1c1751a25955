"""Rows of ``gateway_routing``: the session that receives a chat's messages.

A scope is the resolved path of a sessions folder. Rows that were not read or could not be parsed
stay as they are: only keys that the caller names are written or deleted.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping
from typing import Any

from hermes_desktop.state.records.content_codec import clean_text

Entry = str | Mapping[str, Any]
"""A routing entry: JSON text, or the mapping to encode."""


def load(conn: sqlite3.Connection, scope: str) -> dict[str, str]:
    """Return all entries of a scope as stored, by key."""
    rows = conn.execute(
        "SELECT session_key, entry_json FROM gateway_routing WHERE scope = ? ORDER BY session_key",
        (clean_text(scope),),
    )
    return {row[0]: row[1] for row in rows.fetchall()}


def encode(entry: Entry) -> str:
    """Return the text of an entry."""
    return clean_text(entry) if isinstance(entry, str) else json.dumps(dict(entry))


def save_changes(
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
    stored = load(conn, scope)
    entries = {clean_text(key): encode(entry) for key, entry in changed.items()}
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
