"""Rows of ``sessions``: insertion, lookup, end, reopening, settings, and the chat they belong to.

Statements only; callers provide the connection and, for writes, the transaction.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.records.content_codec import bindable, clean_text, decode_json
from hermes_desktop.state.records.records import SessionRow
from hermes_desktop.state.records.sqlite_errors import MissingSessionError
from hermes_desktop.state.records.stored_rows import chunks, columns, marks

_LONGEST_ID = 1_000
ENDED_WITHOUT_DECISION = ("agent_close", "ws_orphan_reap")
"""Ends that no user decided: a reset may replace them, and the next message of the chat continues
such a session.
"""
_ADDRESS = ("source", "user_id", "session_key", "chat_id", "chat_type", "thread_id")
_KEPT_IF_BLANK = ("display_name", "origin_json")


class OptionalFields(TypedDict, total=False):
    """The optional fields of a new session, except the model."""

    model_config: Mapping[str, Any] | None
    system_prompt: str | None
    user_id: str | None
    session_key: str | None
    chat_id: str | None
    chat_type: str | None
    thread_id: str | None
    parent_session_id: str | None
    cwd: str | None
    git_branch: str | None
    git_repo_root: str | None
    profile_name: str | None


class SessionFields(OptionalFields, total=False):
    """The optional fields of a new session."""

    model: str | None


_FIELDS = tuple(SessionFields.__annotations__)
_KEPT = {"user_id"}
"""Set when the row is inserted and never filled in later."""

_INSERT = (
    f"INSERT INTO sessions (id, source, started_at, {', '.join(_FIELDS)}) "
    f"VALUES (?, ?, ?{', ?' * len(_FIELDS)}) ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(
        f"{name} = coalesce(sessions.{name}, excluded.{name})"
        for name in _FIELDS
        if name not in _KEPT
    )
)


def insert(
    conn: sqlite3.Connection,
    session_id: str,
    source: str,
    now: float,
    fields: SessionFields,
    layout: FileLayout | None = None,
) -> None:
    """Insert a row; in an existing one only fill what is still NULL.

    Args:
        conn: Inside a write transaction.
        session_id: Its id.
        source: Its source.
        now: When it began, epoch seconds.
        fields: The other known fields.
        layout: The file's schema; without it only what schema 22 has is filled.

    Raises:
        TypeError: An unknown field.
        MissingSessionError: The parent has no row.
    """
    unknown = set(fields) - set(_FIELDS)
    if unknown:
        raise TypeError(f"Unknown session field: {', '.join(sorted(unknown))}")
    parent = clean_text(fields.get("parent_session_id") or "") or None
    if parent is not None and not exists(conn, parent):
        raise MissingSessionError(
            "The session to continue from does not exist.", f"There is no session {parent}."
        )
    values: dict[str, Any] = {name: bindable(fields.get(name)) for name in _FIELDS}
    values["parent_session_id"] = parent
    values["model_config"] = encode_config(fields.get("model_config"))
    session_id = clean_text(session_id)
    if layout is not None and layout.names_prompts and _prompt_hash(conn, session_id):
        values["system_prompt"] = None  # it has one, by its hash
    row = (session_id, clean_text(source), now, *values.values())
    if layout is None or "created_source" not in layout.columns["sessions"]:
        conn.execute(_INSERT, row)
    else:
        known = exists(conn, session_id)
        conn.execute(_INSERT, row)
        if not known:
            set_column(conn, session_id, "created_source", source)


def _prompt_hash(conn: sqlite3.Connection, session_id: str) -> Any:
    return column(conn, session_id, "system_prompt_hash")


def carry_prompt(conn: sqlite3.Connection, origin_id: str, new_id: str) -> None:
    """Copy the prompt of another session, in the same form in which it is stored there."""
    present = columns(conn, "sessions")
    for name in ("system_prompt", "system_prompt_hash"):
        if name in present:
            conn.execute(
                f"UPDATE main.sessions SET {name} = "
                f"(SELECT o.{name} FROM main.sessions AS o WHERE o.id = ?) WHERE id = ?",
                (clean_text(origin_id), clean_text(new_id)),
            )


def encode_config(config: Mapping[str, Any] | None) -> str | None:
    """Return ``model_config`` as stored: a JSON object, or NULL if empty."""
    return json.dumps(dict(config), default=str) if config else None


def exists(conn: sqlite3.Connection, session_id: str) -> bool:
    """Return whether the session has a row."""
    found = conn.execute("SELECT 1 FROM sessions WHERE id = ?", (clean_text(session_id),))
    return found.fetchone() is not None


def require(conn: sqlite3.Connection, session_id: str) -> None:
    """Verify that a session has a row before anything is added to it.

    Raises:
        MissingSessionError: There is none (any more).
    """
    if not exists(conn, session_id):
        raise missing(session_id)


def missing(session_id: str) -> MissingSessionError:
    """Return the error for a session without a row."""
    return MissingSessionError(
        "The session no longer exists.",
        f"There is no session {session_id} in the session database.",
        "Start a new session.",
    )


def get(conn: sqlite3.Connection, session_id: str) -> SessionRow | None:
    """Return all columns of one row by name."""
    row = conn.execute("SELECT * FROM sessions WHERE id = ?", (clean_text(session_id),)).fetchone()
    return None if row is None else dict(row)


def column(conn: sqlite3.Connection, session_id: str, name: str) -> Any:
    """Return one column of one row; None when there is no row."""
    row = conn.execute(
        f"SELECT {name} FROM sessions WHERE id = ?", (clean_text(session_id),)
    ).fetchone()
    return None if row is None else row[0]


def set_column(conn: sqlite3.Connection, session_id: str, name: str, value: Any) -> None:
    """Overwrite one column of one row; no effect when there is no row."""
    conn.execute(
        f"UPDATE sessions SET {name} = ? WHERE id = ?", (bindable(value), clean_text(session_id))
    )


def end(conn: sqlite3.Connection, session_id: str, reason: str, now: float) -> None:
    """End an open session; a session that ended before keeps its reason."""
    conn.execute(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL",
        (now, clean_text(reason), clean_text(session_id)),
    )


def reopen(conn: sqlite3.Connection, session_id: str) -> None:
    """Reopen an ended session."""
    conn.execute(
        "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?",
        (clean_text(session_id),),
    )


def end_by_reset(conn: sqlite3.Connection, session_id: str, reason: str, now: float) -> bool:
    """End a session deliberately, also one that only lost its agent. False: nothing to do."""
    done = conn.execute(
        "UPDATE sessions SET ended_at = ?, end_reason = ? "
        f"WHERE id = ? AND (ended_at IS NULL OR end_reason IN ({marks(ENDED_WITHOUT_DECISION)}))",
        (now, clean_text(reason), clean_text(session_id), *ENDED_WITHOUT_DECISION),
    )
    return done.rowcount > 0


def find_by_prefix(conn: sqlite3.Connection, text: str) -> str | None:
    """Return the id that is this text or the only one that begins with it. "" finds nothing."""
    text = clean_text(text)
    if not text:
        return None
    if exists(conn, text):
        return text
    found = ids_with_prefix(conn, text, limit=2)
    return found[0] if len(found) == 1 else None


def ids_with_prefix(conn: sqlite3.Connection, text: str, *, limit: int) -> list[str]:
    """Return ids that begin with the text, ignoring case; empty text finds nothing."""
    text = clean_text(text)
    if not text or len(text) > _LONGEST_ID:
        return []
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    rows = conn.execute(
        "SELECT id FROM sessions WHERE id LIKE ? ESCAPE '\\' ORDER BY id LIMIT ?",
        (escaped + "%", limit),
    )
    return [str(row[0]) for row in rows]


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
    old = decode_json(column(conn, session_id, "model_config"))
    marks = {
        key: value
        for key, value in (old.items() if isinstance(old, dict) else ())
        if key.startswith("_")
    }
    conn.execute(
        "UPDATE sessions SET model_config = ?, model = coalesce(?, model) WHERE id = ?",
        (
            encode_config({**marks, **config}),
            bindable(model),
            clean_text(session_id),
        ),
    )


def record_peer(conn: sqlite3.Connection, session_id: str, peer: Mapping[str, Any]) -> bool:
    """Store a session's chat: the address is overwritten, name and origin only by new values.

    Returns:
        False when nothing was stored: no key, or no such session.
    """
    if not peer.get("session_key"):
        return False
    parts = [f"{name} = ?" for name in _ADDRESS]
    parts += [f"{name} = coalesce(?, {name})" for name in _KEPT_IF_BLANK]
    values = [bindable(peer.get(name)) for name in (*_ADDRESS, *_KEPT_IF_BLANK)]
    done = conn.execute(
        f"UPDATE sessions SET {', '.join(parts)} WHERE id = ?", (*values, clean_text(session_id))
    )
    return done.rowcount > 0


def latest_of_peer(conn: sqlite3.Connection, peer: Mapping[str, Any]) -> SessionRow | None:
    """Return the newest session with messages that a chat may continue: by key, else by address."""
    if not peer.get("session_key"):
        return None
    address = ("user_id", "chat_id", "chat_type", "thread_id")
    found = _latest(conn, peer, ("session_key",))
    if found is None and any(peer.get(name) for name in address):
        found = _latest(conn, peer, address)
    return found


def _latest(
    conn: sqlite3.Connection, peer: Mapping[str, Any], names: tuple[str, ...]
) -> SessionRow | None:
    same = " AND ".join(f"s.{name} IS ?" for name in names)
    row = conn.execute(
        f"SELECT s.* FROM sessions AS s WHERE s.source = ? AND {same} "
        f"AND (s.ended_at IS NULL OR s.end_reason IN ({marks(ENDED_WITHOUT_DECISION)})) "
        "AND EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id) "
        "ORDER BY s.started_at DESC, s.id DESC LIMIT 1",
        (
            bindable(peer.get("source")),
            *(bindable(peer.get(n)) for n in names),
            *ENDED_WITHOUT_DECISION,
        ),
    ).fetchone()
    return None if row is None else dict(row)


def set_archived(conn: sqlite3.Connection, ids: Sequence[str], *, archived: bool) -> int:
    """Hide or show these rows. Returns how many there are."""
    done = 0
    for chunk in chunks(ids):
        done += conn.execute(
            f"UPDATE sessions SET archived = ? WHERE id IN ({marks(chunk)})",
            (int(archived), *chunk),
        ).rowcount
    return done
