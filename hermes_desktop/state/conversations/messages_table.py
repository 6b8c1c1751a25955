"""Rows of ``messages``: insertion, replacement, undo. Every change updates the session's counters.

``message_count`` is what other processes compare to notice a change, so it is written in the same
transaction as the rows. It counts the messages added, not those that are active.
"""

import functools
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from hermes_desktop.state.records.content_codec import (
    bindable,
    clean_text,
    decode_content,
    decode_json,
    encode_content,
    epoch,
    plain_text,
    to_json,
)
from hermes_desktop.state.records.stored_rows import Row, chunks, insert_rows, marks
from hermes_desktop.state.sessions import sessions_table


class MessageFields(TypedDict, total=False):
    """The optional fields of a message in addition to role and content."""

    tool_name: str | None
    tool_calls: Any
    tool_call_id: str | None
    token_count: int | None
    finish_reason: str | None
    reasoning: str | None
    reasoning_content: str | None
    reasoning_details: Any
    codex_reasoning_items: Any
    codex_message_items: Any
    platform_message_id: str | None
    observed: bool
    effect_disposition: str | None
    timestamp: Any
    api_content: str | None


_PREVIEW_CHARS = 80
JSON_COLUMNS = ("reasoning_details", "codex_reasoning_items", "codex_message_items")
_COUNT_ONE = {
    (calls, times): "UPDATE sessions SET message_count = coalesce(message_count, 0) + 1"
    + calls * ", tool_call_count = coalesce(tool_call_count, 0) + ?"
    + times * ", last_activity_at = max(coalesce(last_activity_at, 0), ?)"
    + " WHERE id = ?"
    for calls in (False, True)
    for times in (False, True)
}
"""Statements by whether tool calls are counted and whether the activity time is stored."""

_STEP_S = 0.000001
_FIELDS = tuple(MessageFields.__annotations__)
_KNOWN = {"role", "content", *_FIELDS}
_APART = {"timestamp", "observed"}
_COLUMNS = {"id", "session_id", "active", *_KNOWN}


def _row(session_id: str, message: Mapping[str, Any], default_time: float) -> Row:
    """Return the columns of a message that are neither NULL nor the table's default."""
    get = message.get
    row: Row = {
        "session_id": session_id,
        "role": clean_text(str(get("role") or "user")),
        "content": encode_content(get("content")),
        "timestamp": default_time,
        "active": 1,
    }
    if len(message) > len(_ALWAYS):
        time = epoch(get("timestamp"))
        if time is not None:
            row["timestamp"] = time
        for name, encode in _ENCODED:
            value = get(name)
            if value is not None:
                row[name] = encode(value)
        if row.get("platform_message_id") is None and get("message_id") is not None:
            row["platform_message_id"] = bindable(get("message_id"))
        if get("observed"):
            row["observed"] = True
    return row


def _stored_json(value: Any) -> str | None:
    """Return JSON text; a string is taken as JSON already."""
    return clean_text(value) if isinstance(value, str) and value else to_json(value)


_ALWAYS = ("role", "content")
_ENCODERS: Mapping[str, Callable[[Any], Any]] = dict.fromkeys(
    ("tool_calls", *JSON_COLUMNS), _stored_json
)
_ENCODED = tuple((n, _ENCODERS.get(n, bindable)) for n in _FIELDS if n not in _APART)


@functools.lru_cache(maxsize=128)
def _insert(names: tuple[str, ...]) -> str:
    """Return the statement for these columns, cached because messages have few shapes."""
    return f"INSERT INTO messages ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _call_count(message: Mapping[str, Any]) -> int:
    calls = message.get("tool_calls")
    if calls is None:
        return 0
    if isinstance(calls, list | tuple):
        return len(calls)
    return 1


Addition = Callable[[sqlite3.Connection], int]
"""Adds one message inside a write transaction and returns the id of its row."""


def addition(
    session_id: str, message: Mapping[str, Any], now: float, *, notes_time: bool = False
) -> Addition:
    """Prepare the addition of one message at the end of a session, with its counters.

    Everything that can be done before other processes have to wait is done here.

    Args:
        session_id: The session.
        message: The message to add.
        now: When, epoch seconds.
        notes_time: Whether the file stores the time of the last activity (later versions do).

    Raises:
        TypeError: An unknown field.
        MissingSessionError: When it is run: the session has no row.
    """
    if not _KNOWN.issuperset(message):
        unknown = message.keys() - _KNOWN
        raise TypeError(f"Unknown message field: {', '.join(sorted(unknown))}")
    session_id = clean_text(session_id)
    row = _row(session_id, message, now)
    insert, values = _insert(tuple(row)), tuple(row.values())
    calls = _call_count(message)
    count = _COUNT_ONE[calls > 0, notes_time]
    counted = (calls,) * (calls > 0) + (now,) * notes_time + (session_id,)

    def add(conn: sqlite3.Connection) -> int:
        cursor = conn.execute(count, counted)
        if cursor.rowcount == 0:
            raise sessions_table.missing(session_id)
        return cursor.execute(insert, values).lastrowid or 0

    return add


def insert_all(
    conn: sqlite3.Connection,
    session_id: str,
    messages: Sequence[Mapping[str, Any]],
    now: float,
    *,
    ids: Sequence[int] | None = None,
) -> None:
    """Add messages and set the counters to just them; ``ids`` are free row ids, None for new."""
    insert_some(conn, session_id, messages, now, ids=ids)
    set_counters(conn, session_id, messages)


def insert_some(
    conn: sqlite3.Connection,
    session_id: str,
    messages: Sequence[Mapping[str, Any]],
    now: float,
    *,
    place: int = 0,
    ids: Sequence[int] | None = None,
) -> None:
    """Add messages without counting them; the first is number ``place`` of the whole."""
    rows = [
        _row(session_id, each, now + n * _STEP_S) for n, each in enumerate(messages, start=place)
    ]
    if ids is not None:
        rows = [{"id": row_id, **row} for row_id, row in zip(ids, rows, strict=True)]
    insert_rows(conn, "messages", _COLUMNS, rows)


def set_counters(
    conn: sqlite3.Connection, session_id: str, messages: Sequence[Mapping[str, Any]]
) -> None:
    """Set the counters to just these messages."""
    conn.execute(
        "UPDATE sessions SET message_count = ?, tool_call_count = ? WHERE id = ?",
        (len(messages), sum(map(_call_count, messages)), session_id),
    )


def replace(
    conn: sqlite3.Connection,
    session_id: str,
    messages: Sequence[Mapping[str, Any]],
    now: float,
    *,
    active_only: bool,
) -> None:
    """Replace all messages of a session, or only its active ones, by other messages."""
    session_id = clean_text(session_id)
    sessions_table.require(conn, session_id)
    rest = " AND active = 1" if active_only else ""
    conn.execute(f"DELETE FROM messages WHERE session_id = ?{rest}", (session_id,))
    insert_all(conn, session_id, messages, now)


def archive_and_compact(
    conn: sqlite3.Connection, session_id: str, messages: Sequence[Mapping[str, Any]], now: float
) -> int:
    """Mark the active messages as summarized away (still visible) and insert the new context."""
    session_id = clean_text(session_id)
    sessions_table.require(conn, session_id)
    done = conn.execute(
        "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND active = 1",
        (session_id,),
    )
    insert_all(conn, session_id, messages, now)
    return done.rowcount


def target(conn: sqlite3.Connection, session_id: str, message_id: int) -> sqlite3.Row:
    """Return the user message that is to be undone.

    Raises:
        ValueError: It is not in this session, or not the user's.
    """
    row: sqlite3.Row | None = conn.execute(
        "SELECT * FROM messages WHERE id = ? AND session_id = ?", (message_id, session_id)
    ).fetchone()
    if row is None:
        raise ValueError(f"Message {message_id} not found in session {session_id}")
    if row["role"] != "user":
        raise ValueError(f"Message {message_id} is not a user message")
    return row


def rewind(conn: sqlite3.Connection, session_id: str, message_id: int) -> dict[str, Any]:
    """Undo a user message and everything after it; the rows stay, but inactive.

    Returns:
        ``rewound_count``, ``target_message`` (decoded) and ``new_head_id`` (None at the top).

    Raises:
        ValueError: The message is not in this session, or not the user's.
    """
    session_id = clean_text(session_id)
    row = target(conn, session_id, message_id)
    done = conn.execute(
        "UPDATE messages SET active = 0 WHERE session_id = ? AND id >= ? AND active = 1",
        (session_id, message_id),
    )
    conn.execute("UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?", (session_id,))
    head = conn.execute(
        "SELECT max(id) FROM messages WHERE session_id = ? AND active = 1", (session_id,)
    ).fetchone()
    return {
        "rewound_count": done.rowcount,
        "target_message": decoded(row),
        "new_head_id": head[0],
    }


def restore(conn: sqlite3.Connection, session_id: str, ids: Sequence[int]) -> int:
    """Make undone messages active again; those summarized away stay.

    The count of rewinds grows again, so that programs that compare marks reread the session.

    Returns:
        How many messages were restored.
    """
    session_id = clean_text(session_id)
    changed = 0
    for chunk in chunks(ids):
        changed += conn.execute(
            f"UPDATE messages SET active = 1 WHERE id IN ({marks(chunk)}) "
            "AND session_id = ? AND active = 0 AND compacted = 0",
            (*chunk, session_id),
        ).rowcount
    conn.execute("UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?", (session_id,))
    return changed


def active_ids(conn: sqlite3.Connection, session_id: str, since: int) -> list[int]:
    """Return the ids of the active messages of a session from one on, in order."""
    rows = conn.execute(
        "SELECT id FROM messages WHERE session_id = ? AND id >= ? AND active = 1 ORDER BY +id",
        (clean_text(session_id), since),
    )
    return [row[0] for row in rows]


def decoded(row: sqlite3.Row) -> dict[str, Any]:
    """Return all columns of a row, content and tool calls decoded, other JSON columns as text."""
    values = dict(row)
    values["content"] = decode_content(values["content"])
    if values.get("tool_calls"):
        calls = decode_json(values["tool_calls"])
        values["tool_calls"] = [] if calls is None else calls
    return values


def select(
    conn: sqlite3.Connection,
    session_ids: Iterable[str],
    *,
    include_inactive: bool,
    limit: int | None = None,
    offset: int = 0,
) -> list[sqlite3.Row]:
    """Return rows of some sessions in order of their ids."""
    ids = [clean_text(session_id) for session_id in session_ids]
    active = "" if include_inactive else " AND active = 1"
    return conn.execute(
        f"SELECT * FROM messages WHERE session_id IN ({', '.join('?' * len(ids))}){active} "
        "ORDER BY +id LIMIT ? OFFSET ?",
        (*ids, -1 if limit is None else limit, offset),
    ).fetchall()


def count(conn: sqlite3.Connection, session_id: str | None = None) -> int:
    """Return the number of rows of one session or of all, inactive ones included."""
    if session_id is None:
        row = conn.execute("SELECT count(*) FROM messages").fetchone()
    else:
        row = conn.execute(
            "SELECT count(*) FROM messages WHERE session_id = ?", (clean_text(session_id),)
        ).fetchone()
    return int(row[0])


def recent_user_messages(
    conn: sqlite3.Connection, session_id: str, limit: int, *, include_inactive: bool
) -> list[dict[str, Any]]:
    """Return id, time and beginning of the last user messages, the newest first."""
    active = "" if include_inactive else " AND active = 1"
    rows = conn.execute(
        "SELECT id, timestamp, content FROM messages "
        f"WHERE session_id = ? AND role = 'user'{active} ORDER BY +id DESC LIMIT ?",
        (clean_text(session_id), limit),
    ).fetchall()
    return [{"id": row[0], "timestamp": row[1], "preview": _preview(row[2])} for row in rows]


def _preview(stored: Any) -> str:
    text = plain_text(decode_content(stored))
    line = " ".join(text[: _PREVIEW_CHARS * 20].split())
    return line if len(line) <= _PREVIEW_CHARS else line[: _PREVIEW_CHARS - 3] + "..."


def set_sent_text(conn: sqlite3.Connection, session_id: str, content: Any, sent: str) -> int:
    """Store the text really sent to the model for the last user message, if its content matches.

    Returns:
        1, or 0 when the last active user message has another content.
    """
    row = conn.execute(
        "SELECT id, content FROM messages WHERE session_id = ? AND role = 'user' AND active = 1 "
        "ORDER BY +id DESC LIMIT 1",
        (clean_text(session_id),),
    ).fetchone()
    if row is None or row[1] != encode_content(content):
        return 0
    conn.execute("UPDATE messages SET api_content = ? WHERE id = ?", (clean_text(sent), row[0]))
    return 1
