"""Facts in a session's row that change during its lifetime: billing, settings, folders."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from hermes_desktop.state.records.content_codec import bindable, clean_text, decode_json
from hermes_desktop.state.records.records import SessionRow
from hermes_desktop.state.sessions import sessions_table


def set_route(
    conn: sqlite3.Connection,
    session_id: str,
    route: tuple[str | None, str | None, str | None],
    *,
    names_prompts: bool = False,
) -> None:
    """Overwrite provider and address, and the mode if given; the stored prompt is dropped."""
    conn.execute(
        "UPDATE sessions SET billing_provider = ?, billing_base_url = ?, "
        "billing_mode = coalesce(?, billing_mode) WHERE id = ?",
        (*map(bindable, route), clean_text(session_id)),
    )
    sessions_table.set_prompt(conn, session_id, None, names_prompts=names_prompts)


def parse_config(text: str | None) -> dict[str, Any]:
    """Return settings parsed from JSON text; {} for a blank one.

    Raises:
        ValueError: It is not a JSON object.
    """
    if not text or not text.strip():
        return {}
    config = decode_json(text)
    if isinstance(config, dict):
        return config
    raise ValueError("model_config must be a JSON object")


def set_config(
    conn: sqlite3.Connection, session_id: str, config: Mapping[str, Any], model: str | None
) -> None:
    """Overwrite the settings; the old marks are kept, else the row would change its kind."""
    old = decode_json(sessions_table.column(conn, session_id, "model_config"))
    marks = {
        key: value
        for key, value in (old.items() if isinstance(old, dict) else ())
        if key.startswith("_")
    }
    conn.execute(
        "UPDATE sessions SET model_config = ?, model = coalesce(?, model) WHERE id = ?",
        (
            sessions_table.encode_config({**marks, **config}),
            bindable(model),
            clean_text(session_id),
        ),
    )


def fill_roots(conn: sqlite3.Connection, cwd_to_root: Mapping[str, str]) -> None:
    """Set the repository of rows that have a folder and no repository."""
    conn.executemany(
        "UPDATE sessions SET git_repo_root = ? "
        "WHERE cwd = ? AND (git_repo_root IS NULL OR git_repo_root = '')",
        [(clean_text(root), clean_text(cwd)) for cwd, root in cwd_to_root.items() if root],
    )


def distinct_cwds(conn: sqlite3.Connection, *, include_archived: bool) -> list[SessionRow]:
    """Return folders of sessions, most recently used first, with number of sessions and last use.

    The last use of a session is its end, of an open one its start.
    """
    shown = "" if include_archived else "AND coalesce(s.archived, 0) = 0"
    rows = conn.execute(
        "SELECT s.cwd AS cwd, count(*) AS sessions, "
        "max(coalesce(s.ended_at, s.started_at)) AS last_active "
        f"FROM sessions AS s WHERE s.cwd IS NOT NULL AND s.cwd <> '' {shown} "
        "GROUP BY s.cwd ORDER BY last_active DESC, s.cwd"
    ).fetchall()
    return [dict(row) for row in rows]
