"""Archiving: whole conversations are hidden from the lists, or shown again."""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Sequence

from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.sessions.lineage import continues_sql

_CHUNK = 200

_EDGES = f"""
SELECT c.id, p.id FROM sessions AS c JOIN sessions AS p ON p.id = c.parent_session_id
WHERE p.end_reason = 'compression' AND {continues_sql("c")}
"""


def continuations(conn: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return pairs of a session and the compressed one that it continues."""
    return [(row[0], row[1]) for row in conn.execute(_EDGES).fetchall()]


def families(conn: sqlite3.Connection, ids: Collection[str]) -> list[str]:
    """Return these sessions with all segments of their conversations, forks included."""
    edges: dict[str, list[str]] = defaultdict(list)
    for child, parent in continuations(conn):
        edges[child].append(parent)
        edges[parent].append(child)
    found = dict.fromkeys(map(clean_text, ids))
    waiting = list(found)
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other not in found:
                found[other] = None
                waiting.append(other)
    return list(found)


def set_archived(conn: sqlite3.Connection, ids: Sequence[str], *, archived: bool) -> int:
    """Hide or show these rows. Returns how many there are."""
    done = 0
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        done += conn.execute(
            f"UPDATE sessions SET archived = ? WHERE id IN ({', '.join('?' * len(chunk))})",
            (int(archived), *chunk),
        ).rowcount
    return done
