"""A conversation copied so that it can go on in another direction."""

import sqlite3
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.state import sessions_table, titles
from hermes_desktop.state.content_codec import bindable, clean_text, decode_json
from hermes_desktop.state.sqlite_errors import MissingSessionError

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
_STEP_S = 0.000001
_CALLS = (
    "sum(CASE WHEN tool_calls IS NULL OR NOT json_valid(tool_calls) THEN 0 "
    "WHEN json_type(tool_calls) = 'array' THEN json_array_length(tool_calls) ELSE 1 END)"
)


@dataclass(frozen=True, slots=True)
class Branch:
    """What a branch is made of.

    Attributes:
        origin_id: The session that is copied.
        branch_id: Id of the copy.
        source: Where the copy lives on; None: where the origin lives.
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


def create(conn: sqlite3.Connection, branch: Branch, now: float) -> int:
    """Make the copy inside a write transaction: its row, its mark, its title, its messages.

    Returns:
        How many messages were copied.

    Raises:
        MissingSessionError: The origin has no row.
        RefusedError: The id of the copy is taken.
        TitleError: The title is too long.
    """
    origin = sessions_table.get(conn, branch.origin_id)
    if origin is None:
        raise MissingSessionError(
            "The session to branch from does not exist.",
            f"There is no session {branch.origin_id} in the conversation store.",
        )
    branch_id = clean_text(branch.branch_id)
    if sessions_table.exists(conn, branch_id):
        raise RefusedError(
            "The copy cannot be made.", f"There is a session {branch_id} already.", "Try again."
        )
    config = decode_json(origin["model_config"])
    kept = config.items() if isinstance(config, dict) else ()
    marked = {key: value for key, value in kept if not key.startswith("_")}
    marked["_branched_from"] = origin["id"]
    sessions_table.insert(
        conn,
        branch_id,
        branch.source or origin["source"],
        now,
        {
            "model": origin["model"],
            "model_config": marked,
            "system_prompt": origin["system_prompt"],
            "parent_session_id": origin["id"],
            "cwd": origin["cwd"],
            "profile_name": origin["profile_name"],
        },
    )
    _give_places(conn, branch_id, origin)
    _give_title(conn, branch_id, branch.title, origin["title"])
    if branch.end_origin:
        sessions_table.end(conn, origin["id"], "branched", now)
    return _copy_messages(conn, origin["id"], branch_id, branch.until_message_id, now)


def _give_places(conn: sqlite3.Connection, branch_id: str, origin: dict[str, Any]) -> None:
    for name in ("git_branch", "git_repo_root"):
        sessions_table.set_column(conn, branch_id, name, bindable(origin[name]))


def _give_title(
    conn: sqlite3.Connection, branch_id: str, wanted: str | None, origin_title: str | None
) -> None:
    base = titles.sanitize_title(wanted) or origin_title
    if base:
        title = titles.fitting_title(conn, base)
        titles.set_title(conn, branch_id, title)


def _copy_messages(
    conn: sqlite3.Connection, origin_id: str, branch_id: str, until: int | None, now: float
) -> int:
    """Copy what the model would be told; the copies are new rows, written now."""
    names = ", ".join(_COPIED)
    conn.execute(
        f"INSERT INTO messages (session_id, timestamp, active, {names}) "
        f"SELECT ?, ? + (row_number() OVER (ORDER BY id) - 1) * ?, 1, {names} FROM messages "
        "WHERE session_id = ? AND active = 1 AND role <> 'session_meta' "
        "AND (? IS NULL OR id <= ?) ORDER BY id",
        (branch_id, now, _STEP_S, origin_id, until, until),
    )
    row = conn.execute(
        f"SELECT count(*), {_CALLS} FROM messages WHERE session_id = ?", (branch_id,)
    ).fetchone()
    conn.execute(
        "UPDATE sessions SET message_count = ?, tool_call_count = ? WHERE id = ?",
        (row[0], row[1] or 0, branch_id),
    )
    return int(row[0])
