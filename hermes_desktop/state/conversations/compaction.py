"""Compaction: a conversation is shortened in its own session, or continued in a new one.

Either happens in one transaction, so a process killed at any step leaves the conversation
unchanged. Messages that were added while the summary was written are kept.

Two programs that compress one conversation would fork it: no lock, no compression. A lock expires
when it is not refreshed in time, or when its holder is known for certain to be gone.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.errors import BusyError, RefusedError
from hermes_desktop.core.files.lock_holder import is_gone
from hermes_desktop.state.conversations import messages_table
from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.records import meta_table
from hermes_desktop.state.records.content_codec import bindable, clean_text, decode_json
from hermes_desktop.state.sessions import sessions_table, titles

LOCK_LIFETIME_S = 300.0


@dataclass(frozen=True, slots=True)
class CompressionLock:
    """A held compression lock. Times in epoch seconds."""

    holder: str
    acquired_at: float
    expires_at: float


def acquire_lock(
    conn: sqlite3.Connection, session_id: str, holder: str, now: float, lifetime_s: float
) -> bool:
    """Acquire or re-acquire the lock; an expired one, or one whose holder is gone, is removed."""
    session_id, holder = clean_text(session_id), clean_text(holder)
    if not session_id or not holder:
        return False
    if held_lock(conn, session_id, now) is None:
        conn.execute("DELETE FROM compression_locks WHERE session_id = ?", (session_id,))
    conn.execute(
        "INSERT INTO compression_locks (session_id, holder, acquired_at, expires_at) "
        "VALUES (?, ?, ?, ?) ON CONFLICT (session_id) DO NOTHING",
        (session_id, holder, now, now + lifetime_s),
    )
    row = conn.execute(
        "SELECT holder FROM compression_locks WHERE session_id = ?", (session_id,)
    ).fetchone()
    return bool(row is not None and row[0] == holder)


def refresh_lock(
    conn: sqlite3.Connection, session_id: str, holder: str, now: float, lifetime_s: float
) -> bool:
    """Extend the lock. False: it is not held by this holder (any more), or it has expired."""
    done = conn.execute(
        "UPDATE compression_locks SET expires_at = ? "
        "WHERE session_id = ? AND holder = ? AND expires_at >= ?",
        (now + lifetime_s, clean_text(session_id), clean_text(holder), now),
    )
    return done.rowcount > 0


def release_lock(conn: sqlite3.Connection, session_id: str, holder: str) -> None:
    """Release the lock; a lock of another holder is left."""
    conn.execute(
        "DELETE FROM compression_locks WHERE session_id = ? AND holder = ?",
        (clean_text(session_id), clean_text(holder)),
    )


def held_lock(conn: sqlite3.Connection, session_id: str, now: float) -> CompressionLock | None:
    """Return the lock of a session, None if it is not held (any more)."""
    row = conn.execute(
        "SELECT holder, acquired_at, expires_at FROM compression_locks "
        "WHERE session_id = ? AND expires_at >= ?",
        (clean_text(session_id), now),
    ).fetchone()
    return None if row is None or is_gone(str(row[0])) else CompressionLock(*row)


def lock_holder(conn: sqlite3.Connection, session_id: str, now: float) -> str | None:
    """Return the holder of the lock, None if it is not held (any more)."""
    found = held_lock(conn, session_id, now)
    return None if found is None else found.holder


def set_cooldown(
    conn: sqlite3.Connection, session_id: str, until: float | None, error: str | None
) -> None:
    """Record that compression failed and when it may be retried; None clears the record."""
    conn.execute(
        "UPDATE sessions SET compression_failure_cooldown_until = ?, "
        "compression_failure_error = ? WHERE id = ?",
        (until, bindable(error), clean_text(session_id)),
    )


def cooldown(conn: sqlite3.Connection, session_id: str, now: float) -> dict[str, Any] | None:
    """Return the end of the cooldown, the seconds left and the error; None without a cooldown."""
    row = conn.execute(
        "SELECT compression_failure_cooldown_until, compression_failure_error "
        "FROM sessions WHERE id = ?",
        (clean_text(session_id),),
    ).fetchone()
    if row is None or row[0] is None or row[0] <= now:
        return None
    return {"cooldown_until": row[0], "remaining_seconds": row[0] - now, "error": row[1]}


_TAKEN_ALONG = (
    "display_name",
    "origin_json",
    "git_branch",
    "git_repo_root",
    "billing_provider",
    "billing_base_url",
    "billing_mode",
    "archived",
)
"""Columns a continuation inherits in addition to those set at insertion, so its chat finds it."""

_MADE_WITH = (
    "model",
    "user_id",
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "cwd",
    "profile_name",
)


@dataclass(frozen=True, slots=True)
class Compaction:
    """The result of a compaction, to be applied to a conversation.

    Attributes:
        session_id: The conversation.
        holder: The holder of the compression lock.
        messages: The messages that replace those up to ``seen_up_to``.
        seen_up_to: Greatest row id that was read.
        seen_rows: How many active rows were read.
    """

    session_id: str
    holder: str
    messages: Sequence[Mapping[str, Any]]
    seen_up_to: int
    seen_rows: int


def in_place(conn: sqlite3.Connection, wanted: Compaction, now: float) -> int:
    """Archive the messages and insert the new context in the same session.

    Returns:
        How many messages were added in the meantime.

    Raises:
        MissingSessionError: The session has no row.
        BusyError: The lock is not held by this holder (any more).
        RefusedError: The conversation was changed or rotated in the meantime; nothing was done.
    """
    session_id = clean_text(wanted.session_id)
    later = _looked_at(conn, wanted, now)
    messages_table.archive_and_compact(conn, session_id, [*wanted.messages, *later], now)
    return len(later)


def rotate(
    conn: sqlite3.Connection, wanted: Compaction, new_id: str, now: float, layout: FileLayout
) -> int:
    """End the session and continue its conversation in a new one. Returns and raises likewise.

    The order is that of other programs: end, child, goal, title, prompt, messages.
    """
    session_id, new_id = clean_text(wanted.session_id), clean_text(new_id)
    later = _looked_at(conn, wanted, now)
    row = sessions_table.get(conn, session_id)
    if row is None:
        raise sessions_table.missing(session_id)
    if sessions_table.exists(conn, new_id):
        raise RefusedError(
            "The session was not compressed.", f"The session {new_id} already exists."
        )
    sessions_table.reopen(conn, session_id)  # the conversation continues, whatever ended it
    sessions_table.end(conn, session_id, "compression", now)
    _make_child(conn, row, new_id, now, layout)
    _move_goal(conn, session_id, new_id)
    if row["title"]:
        title = titles.fitting_title(conn, row["title"])
        noted = row.get("title_source")
        titles.set_title(conn, new_id, title, chosen_by=noted)
    sessions_table.carry_prompt(conn, session_id, new_id)
    messages_table.replace(conn, new_id, [*wanted.messages, *later], now, active_only=False)
    return len(later)


def _looked_at(conn: sqlite3.Connection, wanted: Compaction, now: float) -> list[dict[str, Any]]:
    """Verify that only additions happened in the meantime, and return the additions."""
    session_id = clean_text(wanted.session_id)
    sessions_table.require(conn, session_id)
    if lock_holder(conn, session_id, now) != clean_text(wanted.holder):
        raise BusyError(
            "The session was not compressed.",
            "Another program is compressing it.",
            "Try again in a moment.",
        )
    rows = messages_table.select(conn, [session_id], include_inactive=False)
    later = [messages_table.decoded(row) for row in rows if row["id"] > wanted.seen_up_to]
    moved_on = sessions_table.column(conn, session_id, "end_reason") == "compression"
    if moved_on or len(rows) - len(later) != wanted.seen_rows:
        raise RefusedError(
            "The session was not compressed.",
            "Another program changed it in the meantime.",
            "Try again.",
        )
    return later


def _make_child(
    conn: sqlite3.Connection, row: Mapping[str, Any], new_id: str, now: float, layout: FileLayout
) -> None:
    config = decode_json(row["model_config"])
    kept = config.items() if isinstance(config, dict) else ()
    fields: Any = {name: row[name] for name in _MADE_WITH}
    # The marks of a branch or a subagent belong to the first session, not to its continuation.
    plain = {key: value for key, value in kept if not key.startswith("_")}
    fields |= {"model_config": plain, "parent_session_id": row["id"]}
    sessions_table.insert(conn, new_id, row["source"], now, fields, layout)
    for name in _TAKEN_ALONG:
        if row.get(name) is not None:
            sessions_table.set_column(conn, new_id, name, bindable(row[name]))


def _move_goal(conn: sqlite3.Connection, old_id: str, new_id: str) -> None:
    goal = meta_table.get(conn, f"goal:{old_id}")
    if goal is not None:
        meta_table.put(conn, f"goal:{new_id}", goal)
        conn.execute("DELETE FROM state_meta WHERE key = ?", (f"goal:{old_id}",))
