"""Statistics of the whole store."""

import sqlite3
from dataclasses import dataclass

from hermes_desktop.state.records.stored_values import seconds_sql, total_sql


@dataclass(frozen=True, slots=True)
class SourceFigures:
    """The figures of one source."""

    source: str
    sessions: int
    messages: int


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """The figures of a store. Times in epoch seconds, None without a session.

    Attributes:
        sessions: All, with archived ones, segments and subagents.
        archived: How many of them are archived.
        messages: All rows of these sessions, with hidden ones.
        sources: The same sessions and rows by source, the largest number of sessions first.
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
    """Count sessions, messages and tokens once."""
    begun = seconds_sql("started_at")
    row = conn.execute(
        "SELECT count(*), coalesce(sum(coalesce(archived, 0) <> 0), 0), "
        f"{total_sql('input_tokens')}, {total_sql('output_tokens')}, "
        f"min({begun}), max({begun}) FROM sessions"
    ).fetchone()
    sources = conn.execute(
        "SELECT source, count(*), "
        "sum((SELECT count(*) FROM messages AS m WHERE m.session_id = sessions.id)) "
        "FROM sessions GROUP BY source ORDER BY count(*) DESC, source"
    ).fetchall()
    return StoreFigures(
        sessions=row[0],
        archived=row[1],
        messages=sum(each[2] for each in sources),
        input_tokens=row[2],
        output_tokens=row[3],
        first_started=row[4],
        last_started=row[5],
        sources=tuple(SourceFigures(str(each[0]), each[1], each[2]) for each in sources),
    )
