"""The outbox: replies owed to a chat, rows of ``delivery_obligations``.

The table belongs to the gateway of the ``hermes`` command, which creates it when it first needs it;
so does this program, with exactly its columns, in a file of version 22 or older. In a newer file
this program creates nothing: there the same table is stored in desktop.db.
"""

import hashlib
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from hermes_desktop.state.database.schema import Column, table_ddl
from hermes_desktop.state.records.content_codec import clean_text

TABLE = "delivery_obligations"

COLUMNS: tuple[Column, ...] = (
    Column("obligation_id", "TEXT", "PRIMARY KEY"),
    *(Column(name, "TEXT", "NOT NULL") for name in ("session_key", "platform", "chat_id")),
    Column("thread_id", "TEXT"),
    *(Column(name, "TEXT", "NOT NULL") for name in ("content", "state")),
    Column("attempts", "INTEGER", "NOT NULL DEFAULT 0"),
    *(Column(name, "REAL", "NOT NULL") for name in ("created_at", "updated_at")),
    *(Column(name, "INTEGER") for name in ("owner_pid", "owner_started_at")),
    Column("last_error", "TEXT"),
)

KEPT_S = 7 * 86_400.0
MOST_ROWS = 500
_ERROR_LENGTH = 500

ObligationState = Literal["pending", "attempting", "delivered", "failed", "abandoned"]
_OPEN = "state IN ('pending', 'attempting', 'failed')"


@dataclass(frozen=True, slots=True)
class Owner:
    """The process responsible for a reply.

    Attributes:
        started_at: When it was started, in clock ticks; None if unknown.
    """

    pid: int
    started_at: int | None = None


@dataclass(frozen=True, slots=True)
class Obligation:
    """A reply and its delivery state.

    Attributes:
        state: ``pending`` (never passed to the platform), ``attempting`` (it may have arrived),
            ``failed`` (the platform refused it, or did not answer), ``delivered``, ``abandoned``.
        attempts: How often it was claimed after the first attempt, except when it certainly did not
            leave.
    """

    obligation_id: str
    session_key: str
    platform: str
    chat_id: str
    thread_id: str | None
    content: str
    state: ObligationState = "pending"
    attempts: int = 0
    created_at: float = 0.0
    owner: Owner | None = None
    last_error: str | None = None


def obligation_id(session_key: str, message_ref: str, text: str) -> str:
    """Return the id of a reply, the same for the same text in answer to the same message."""
    whole = f"{session_key}|{message_ref}|{text}"
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:24]


def ddl() -> str:
    """Return the statement that creates the table."""
    return table_ddl(TABLE, COLUMNS)


def exists(conn: sqlite3.Connection) -> bool:
    """Return whether the file has the table."""
    found = conn.execute(
        "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?", (TABLE,)
    )
    return found.fetchone() is not None


def fits(conn: sqlite3.Connection) -> bool:
    """Return whether the table has exactly the expected columns, or does not exist yet."""
    names = {str(row[1]) for row in conn.execute(f"PRAGMA main.table_info({TABLE})")}
    return not names or names == {column.name for column in COLUMNS}


def ensure(conn: sqlite3.Connection) -> None:
    """Create the table if it is missing, inside a write transaction."""
    if not exists(conn):
        conn.execute(ddl())


def owe(conn: sqlite3.Connection, owed: Obligation, owner: Owner, now: float) -> None:
    """Store a reply before it is sent. An identical reply is reset to its initial state."""
    conn.execute(
        f"INSERT INTO {TABLE} (obligation_id, session_key, platform, chat_id, thread_id, content, "
        "state, attempts, created_at, updated_at, owner_pid, owner_started_at) "
        "VALUES (?, ?, ?, ?, ?, ?, 'pending', 0, ?, ?, ?, ?) ON CONFLICT (obligation_id) DO UPDATE "
        "SET state = 'pending', attempts = 0, content = excluded.content, "
        "created_at = excluded.created_at, updated_at = excluded.updated_at, "
        "owner_pid = excluded.owner_pid, owner_started_at = excluded.owner_started_at, "
        "last_error = NULL",
        (
            owed.obligation_id,
            *map(clean_text, (owed.session_key, owed.platform, owed.chat_id)),
            owed.thread_id,
            clean_text(owed.content),
            now,
            now,
            owner.pid,
            owner.started_at,
        ),
    )


def set_state(
    conn: sqlite3.Connection,
    name: str,
    state: ObligationState,
    now: float,
    error: str | None = None,
) -> None:
    """Store the delivery state of a reply."""
    conn.execute(
        f"UPDATE {TABLE} SET state = ?, updated_at = ?, last_error = ? WHERE obligation_id = ?",
        (state, now, None if error is None else clean_text(error)[:_ERROR_LENGTH], name),
    )


def open_ones(conn: sqlite3.Connection, platforms: Collection[str]) -> list[Obligation]:
    """Return replies for these platforms not known to be delivered, the oldest first."""
    if not exists(conn):
        return []
    marks = ", ".join("?" * len(platforms))
    rows = conn.execute(
        f"SELECT * FROM {TABLE} WHERE {_OPEN} AND platform IN ({marks}) ORDER BY created_at, rowid",
        tuple(platforms),
    )
    return [_obligation(row) for row in rows.fetchall()]


def take_over(conn: sqlite3.Connection, owed: Obligation, owner: Owner, now: float) -> bool:
    """Claim a reply; False when another process was faster."""
    before = owed.owner or Owner(0)
    done = conn.execute(
        f"UPDATE {TABLE} SET attempts = attempts + 1, updated_at = ?, owner_pid = ?, "
        f"owner_started_at = ? WHERE obligation_id = ? AND {_OPEN} AND attempts = ? "
        "AND coalesce(owner_pid, 0) = ? AND owner_started_at IS ?",
        (
            now,
            owner.pid,
            owner.started_at,
            owed.obligation_id,
            owed.attempts,
            before.pid,
            before.started_at,
        ),
    )
    return done.rowcount == 1


def forgive(conn: sqlite3.Connection, name: str) -> None:
    """Subtract an attempt that was certainly never sent."""
    conn.execute(
        f"UPDATE {TABLE} SET attempts = max(attempts - 1, 0) WHERE obligation_id = ?", (name,)
    )


def owed_since(conn: sqlite3.Connection, session_key: str, since: float) -> bool:
    """Return whether a reply to a chat was recorded at or after a time."""
    if not exists(conn):
        return False
    row = conn.execute(
        f"SELECT 1 FROM {TABLE} WHERE session_key = ? AND created_at >= ? LIMIT 1",
        (clean_text(session_key), since),
    ).fetchone()
    return row is not None


def prune(conn: sqlite3.Connection, now: float) -> None:
    """Delete settled replies older than a week, and the oldest settled ones beyond 500 rows."""
    conn.execute(f"DELETE FROM {TABLE} WHERE NOT {_OPEN} AND updated_at < ?", (now - KEPT_S,))
    conn.execute(
        f"DELETE FROM {TABLE} WHERE NOT {_OPEN} AND obligation_id NOT IN "
        f"(SELECT obligation_id FROM {TABLE} ORDER BY updated_at DESC, rowid DESC LIMIT ?)",
        (MOST_ROWS,),
    )


def _obligation(row: sqlite3.Row) -> Obligation:
    pid = row["owner_pid"]
    return Obligation(
        obligation_id=row["obligation_id"],
        session_key=row["session_key"],
        platform=row["platform"],
        chat_id=row["chat_id"],
        thread_id=row["thread_id"],
        content=row["content"],
        state=row["state"],
        attempts=row["attempts"],
        created_at=row["created_at"],
        owner=None if pid is None else Owner(pid, row["owner_started_at"]),
        last_error=row["last_error"],
    )
