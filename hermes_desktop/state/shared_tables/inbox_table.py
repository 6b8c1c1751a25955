"""The inbox in desktop.db: received messages not yet handled, and ids of handled ones.

A message is stored before anything is done with it, so that after a kill the next start knows which
messages were waiting, which were being answered, and which are only redelivered.
"""

import sqlite3
from dataclasses import dataclass
from typing import Literal

from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.shared_tables.delivery_table import Owner

DDL = (
    """
    CREATE TABLE inbox (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      platform TEXT NOT NULL,
      chat_id TEXT NOT NULL,
      message_id TEXT,
      session_key TEXT NOT NULL,
      event TEXT NOT NULL,
      state TEXT NOT NULL,
      session_id TEXT NOT NULL DEFAULT '',
      after_row INTEGER NOT NULL DEFAULT 0,
      began_at REAL NOT NULL DEFAULT 0,
      received_at REAL NOT NULL,
      owner_pid INTEGER NOT NULL,
      owner_started_at INTEGER
    )
    """,
    """
    CREATE UNIQUE INDEX inbox_message ON inbox (platform, chat_id, message_id)
    WHERE message_id IS NOT NULL
    """,
    "CREATE INDEX inbox_state ON inbox (state, received_at)",
)

KEPT_S = 7 * 86_400.0
MOST_DONE = 5000

InboxState = Literal["waiting", "begun", "done"]


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A message that was not handled.

    Attributes:
        event: The message as JSON.
        session_id: The conversation in which its turn started, "" before.
        after_row: Greatest row of the conversation store when the turn started.
        began_at: When the turn started, in seconds since the epoch.
    """

    id: int
    session_key: str
    event: str
    state: InboxState
    session_id: str
    after_row: int
    began_at: float
    received_at: float
    owner: Owner


def add(  # noqa: PLR0913 - the columns of a row
    conn: sqlite3.Connection,
    *,
    address: tuple[str, str],
    message_id: str | None,
    session_key: str,
    event: str,
    owner: Owner,
    now: float,
) -> int | None:
    """Store a message. None: one with this id was stored before.

    Args:
        conn: Inside a write transaction.
        address: Platform and chat.
        message_id: The platform's id of it; without one duplicates are not recognized.
        session_key: The chat's routing key.
        event: The message as JSON.
        owner: The process that handles it.
        now: The time.
    """
    row = conn.execute(
        "INSERT INTO inbox (platform, chat_id, message_id, session_key, event, state, received_at, "
        "owner_pid, owner_started_at) VALUES (?, ?, ?, ?, ?, 'waiting', ?, ?, ?) "
        "ON CONFLICT DO NOTHING RETURNING id",
        (
            *map(clean_text, address),
            None if message_id is None else clean_text(message_id),
            clean_text(session_key),
            clean_text(event),
            now,
            owner.pid,
            owner.started_at,
        ),
    ).fetchone()
    return None if row is None else int(row[0])


def begin(
    conn: sqlite3.Connection, row_id: int, session_id: str, after_row: int, now: float
) -> None:
    """Record that a turn has started to answer a message."""
    conn.execute(
        "UPDATE inbox SET state = 'begun', session_id = ?, after_row = ?, began_at = ? "
        "WHERE id = ? AND state <> 'done'",
        (session_id, after_row, now, row_id),
    )


def finish(conn: sqlite3.Connection, row_id: int) -> None:
    """Record that a message was handled; its text is deleted, its id is kept for some time."""
    conn.execute("UPDATE inbox SET state = 'done', event = '' WHERE id = ?", (row_id,))


def adopt(conn: sqlite3.Connection, row_id: int, owner: Owner) -> None:
    """Change the owner of a message."""
    conn.execute(
        "UPDATE inbox SET owner_pid = ?, owner_started_at = ? WHERE id = ?",
        (owner.pid, owner.started_at, row_id),
    )


def open_ones(conn: sqlite3.Connection) -> list[InboxRow]:
    """Return unhandled messages, in the order of receipt."""
    rows = conn.execute(
        "SELECT * FROM inbox WHERE state IN ('waiting', 'begun') ORDER BY id"
    ).fetchall()
    return [
        InboxRow(
            id=row["id"],
            session_key=row["session_key"],
            event=row["event"],
            state=row["state"],
            session_id=row["session_id"],
            after_row=row["after_row"],
            began_at=row["began_at"],
            received_at=row["received_at"],
            owner=Owner(row["owner_pid"], row["owner_started_at"]),
        )
        for row in rows
    ]


def prune(conn: sqlite3.Connection, now: float) -> None:
    """Delete ids of messages handled more than a week ago, and the oldest beyond 5,000."""
    conn.execute("DELETE FROM inbox WHERE state = 'done' AND received_at < ?", (now - KEPT_S,))
    conn.execute(
        "DELETE FROM inbox WHERE state = 'done' AND id <= "
        "(SELECT id FROM inbox ORDER BY id DESC LIMIT 1 OFFSET ?)",
        (MOST_DONE,),
    )
