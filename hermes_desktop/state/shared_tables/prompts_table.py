"""The table of this program's system prompts in desktop.db. Statements only."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence

from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.stored_rows import chunks, marks

DDL = """
    CREATE TABLE session_prompts (
      session_id TEXT PRIMARY KEY,
      prompt TEXT NOT NULL,
      kept_at REAL NOT NULL
    )
    """


def first_of(out: sqlite3.Connection, session_ids: Sequence[str]) -> str | None:
    """Return the prompt of the first of these sessions that has one."""
    found = of_each(out, session_ids)
    return next((found[each] for each in session_ids if each in found), None)


def of_each(out: sqlite3.Connection, session_ids: Sequence[str]) -> dict[str, str]:
    """Return the prompts of those of these sessions that have one."""
    return {
        row[0]: row[1]
        for chunk in chunks(session_ids)
        for row in out.execute(
            f"SELECT session_id, prompt FROM session_prompts WHERE session_id IN ({marks(chunk)})",
            chunk,
        ).fetchall()
    }


def put_if_absent(out: sqlite3.Connection, prompts: Mapping[str, str], now: float) -> None:
    """Store prompts by session; an existing one is kept."""
    out.executemany(
        "INSERT INTO session_prompts (session_id, prompt, kept_at) VALUES (?, ?, ?) "
        "ON CONFLICT (session_id) DO NOTHING",
        [(clean_text(each), clean_text(text), now) for each, text in prompts.items()],
    )


def remove(out: sqlite3.Connection, session_ids: Collection[str]) -> None:
    """Delete the prompts of these sessions."""
    for chunk in chunks(list(session_ids)):
        out.execute(f"DELETE FROM session_prompts WHERE session_id IN ({marks(chunk)})", chunk)


def kept_before(out: sqlite3.Connection, edge: float) -> list[str]:
    """Return the sessions whose prompt was stored before this time, epoch seconds."""
    rows = out.execute("SELECT session_id FROM session_prompts WHERE kept_at < ?", (edge,))
    return [row[0] for row in rows.fetchall()]
