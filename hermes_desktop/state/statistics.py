"""Figures of the whole store."""

import sqlite3
from dataclasses import dataclass

from hermes_desktop.state.stored_values import seconds_sql, total_sql


@dataclass(frozen=True, slots=True)
class SourceFigures:
    """What came from one source."""

    source: str
    sessions: int
    messages: int


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """Figures of a store. Times in epoch seconds, None without a session.

    Attributes:
        sessions: All that are not archived, parts and subagents included.
        archived: Those that are.
        messages: All rows, hidden ones included.
        sources: Of all sessions, the largest number of sessions first; messages by the sessions'
            own counters.
    """

    sessions: int
    archived: int
    messages: int
    input_tokens: int
    output_tokens: int
    first_started: float | None
    last_started: float | None
    sources: tuple[SourceFigures, ...]


def figures(conn: sqlite3.Connection) -> StoreFigures:
    """Count everything once."""
    begun = seconds_sql("started_at")
    row = conn.execute(
        "SELECT count(*), coalesce(sum(coalesce(archived, 0) <> 0), 0), "
        f"{total_sql('input_tokens')}, {total_sql('output_tokens')}, "
        f"min({begun}), max({begun}) FROM sessions"
    ).fetchone()
    sources = conn.execute(
        f"SELECT source, count(*), {total_sql('message_count')} FROM sessions "
        "GROUP BY source ORDER BY count(*) DESC, source"
    ).fetchall()
    messages = conn.execute("SELECT count(*) FROM messages").fetchone()[0]
    return StoreFigures(
        sessions=row[0] - row[1],
        archived=row[1],
        messages=messages,
        input_tokens=row[2],
        output_tokens=row[3],
        first_started=row[4],
        last_started=row[5],
        sources=tuple(SourceFigures(str(each[0]), each[1], each[2]) for each in sources),
    )
