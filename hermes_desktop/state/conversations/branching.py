"""Branches: copies of a conversation that continue in another direction."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.state.records.content_codec import bindable, clean_text, decode_json
from hermes_desktop.state.records.sqlite_errors import MissingSessionError
from hermes_desktop.state.records.stored_rows import CHUNK, chunks, marks
from hermes_desktop.state.sessions import sessions_table, titles, transit_rows

_COPIED = (
    "role",
    "content",
    "tool_name",
    "tool_calls",
    "tool_call_id",
    "finish_reason",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
    "api_content",
)
WANTED = "session_id = ? AND active = 1 AND role <> 'session_meta' AND +id <= ?"
"""Condition for the messages of the origin that are copied, up to a row id."""

_STEP_S = 0.000001
_CALLS = (
    "sum(CASE WHEN tool_calls IS NULL OR NOT json_valid(tool_calls) THEN 0 "
    "WHEN json_type(tool_calls) = 'array' THEN json_array_length(tool_calls) ELSE 1 END)"
)


@dataclass(frozen=True, slots=True)
class Branch:
    """The parameters of a branch.

    Attributes:
        origin_id: The session that is copied.
        branch_id: Id of the copy.
        source: The source of the copy; None: the origin's.
        title: Wanted title; None: the next number of the origin's. A taken one is numbered.
        until_message_id: Copy up to and including this row; None for all.
        end_origin: End the origin with the reason ``branched``, as the command line does.
    """

    origin_id: str
    branch_id: str
    source: str | None = None
    title: str | None = None
    until_message_id: int | None = None
    end_origin: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """A snapshot of the origin, taken when the copy was started.

    Attributes:
        extent: How many messages are copied, and the sum of their row ids.
        rewinds: How often messages were undone in it.
    """

    row: dict[str, Any]
    extent: tuple[int, float]
    rewinds: int
    until: int


def create(conn: sqlite3.Connection, branch: Branch, now: float) -> int:
    """Make the whole copy inside a write transaction.

    Returns:
        How many messages were copied.

    Raises:
        MissingSessionError: The origin has no row.
        RefusedError: The id of the copy is taken.
        TitleError: The title is too long.
    """
    origin = begin(conn, branch, now)
    _copy(conn, branch, origin, now, (0, ""), ())
    return complete(conn, branch, origin, now)


def begin(conn: sqlite3.Connection, branch: Branch, now: float) -> Origin:
    """Insert the row of the copy with its mark; see :func:`create`."""
    origin = look(conn, branch)
    branch_id = clean_text(branch.branch_id)
    if sessions_table.exists(conn, branch_id):
        raise RefusedError(
            "The copy cannot be made.", f"The session {branch_id} already exists.", "Try again."
        )
    row = origin.row
    config = decode_json(row["model_config"])
    kept = config.items() if isinstance(config, dict) else ()
    marked = {key: value for key, value in kept if not key.startswith("_")}
    marked["_branched_from"] = row["id"]
    sessions_table.insert(
        conn,
        branch_id,
        branch.source or row["source"],
        now,
        {
            "model": row["model"],
            "model_config": marked,
            "parent_session_id": row["id"],
            "cwd": row["cwd"],
            "profile_name": row["profile_name"],
        },
    )
    for name in ("git_branch", "git_repo_root"):
        if row.get(name) is not None:
            sessions_table.set_column(conn, branch_id, name, bindable(row[name]))
    sessions_table.carry_prompt(conn, row["id"], branch_id)
    return origin


def look(conn: sqlite3.Connection, branch: Branch) -> Origin:
    """Return a snapshot of what is to be copied.

    Raises:
        MissingSessionError: The origin has no row.
    """
    row = sessions_table.get(conn, branch.origin_id)
    if row is None or transit_rows.read_mark(row["model_config"]) is not None:
        raise MissingSessionError(
            "The session to branch from does not exist.",
            f"There is no session {branch.origin_id} in the session database.",
        )
    until = branch.until_message_id
    if until is None:
        until = conn.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()[0]
    extent = conn.execute(
        f"SELECT count(*), total(id) FROM messages WHERE {WANTED}", (row["id"], until)
    ).fetchone()
    return Origin(row, (extent[0], extent[1]), row["rewind_count"] or 0, until)


def copy_some(
    conn: sqlite3.Connection,
    branch: Branch,
    origin: Origin,
    now: float,
    done: int,
    row_ids: Sequence[int],
) -> None:
    """Copy these messages, the first of which is message number ``done`` of the copy."""
    for number, chunk in enumerate(chunks(row_ids)):
        _copy(
            conn, branch, origin, now, (done + number * CHUNK, f"AND id IN ({marks(chunk)})"), chunk
        )


def _copy(
    conn: sqlite3.Connection,
    branch: Branch,
    origin: Origin,
    now: float,
    part: tuple[int, str],
    row_ids: Sequence[int],
) -> None:
    """Copy the messages in the model's context; the copies are new rows with the current time."""
    names = ", ".join(_COPIED)
    done, condition = part
    conn.execute(
        f"INSERT INTO messages (session_id, timestamp, active, {names}) "
        f"SELECT ?, ? + (? + row_number() OVER (ORDER BY id) - 1) * ?, 1, {names} FROM messages "
        f"WHERE {WANTED} {condition} ORDER BY id",
        (
            clean_text(branch.branch_id),
            now,
            done,
            _STEP_S,
            origin.row["id"],
            origin.until,
            *row_ids,
        ),
    )


def complete(conn: sqlite3.Connection, branch: Branch, origin: Origin, now: float) -> int:
    """Set the title and the counters of the copy. Returns how many messages it has."""
    branch_id = clean_text(branch.branch_id)
    base = titles.sanitize_title(branch.title) or origin.row["title"]
    if base:
        noted = "branch" if "title_source" in origin.row else None
        titles.set_title(conn, branch_id, titles.fitting_title(conn, base), chosen_by=noted)
    if branch.end_origin:
        sessions_table.end(conn, origin.row["id"], "branched", now)
    row = conn.execute(
        f"SELECT count(*), {_CALLS} FROM messages WHERE session_id = ?", (branch_id,)
    ).fetchone()
    conn.execute(
        "UPDATE sessions SET message_count = ?, tool_call_count = ? WHERE id = ?",
        (row[0], row[1] or 0, branch_id),
    )
    return int(row[0])
