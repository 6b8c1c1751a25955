"""Deletion of sessions: which rows are deleted with one, and which are only detached.

Subagents are deleted with the session that started them. All other children lose their parent and
become independent conversations. Usage rows are deleted automatically with their session (foreign
keys are on).
"""

import contextlib
import glob
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.ids import is_safe_session_id
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.stored_rows import chunks, marks, quoted
from hermes_desktop.state.sessions import lineage

MOST_SESSIONS = 100
MOST_MESSAGES = 2_000
MOST_BYTES = 2_000_000
"""Limits of one transaction, as other processes wait; each message is in two search indexes."""

_CHUNK = 400
_REFERRED_TO = {
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY,
    sqlite3.SQLITE_CONSTRAINT_TRIGGER,  # ON DELETE RESTRICT
}


@dataclass(frozen=True, slots=True)
class DeletionScope:
    """The sessions that are deleted with one conversation.

    Attributes:
        session_ids: All segments of the conversation, the oldest first.
        subagent_ids: Sessions of subagents it started, and those started by them.
    """

    session_ids: tuple[str, ...]
    subagent_ids: tuple[str, ...]


def existing(conn: sqlite3.Connection, ids: Iterable[object]) -> list[str]:
    """Return the ids that have a row, each once, in the given order; other types are ignored."""
    texts = (clean_text(each) for each in ids if isinstance(each, str))
    wanted = list(dict.fromkeys(texts))
    found: set[str] = set()
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        rows = conn.execute(f"SELECT id FROM sessions WHERE id IN ({marks(chunk)})", chunk)
        found.update(row[0] for row in rows)
    return [session_id for session_id in wanted if session_id in found]


def conversation_scope(conn: sqlite3.Connection, session_id: str) -> DeletionScope:
    """Return what belongs to the conversation of a session; nothing for an unknown id.

    Deleting only its tip would make the segment before it visible again, deleting only its root
    would make the next one a conversation.
    """
    ids = tuple(lineage.conversation(conn, clean_text(session_id)))
    return DeletionScope(ids, tuple(subagents(conn, ids) if ids else ()))


def subagents(conn: sqlite3.Connection, ids: Collection[str]) -> list[str]:
    """Return sessions started by these as subagents, recursively; never one of the ids.

    Their marks name the starting session, so every row is read: not for a write transaction.
    """
    return _all_below(_by_starter(conn), ids)


def subagents_of_each(conn: sqlite3.Connection, ids: Collection[str]) -> dict[str, list[str]]:
    """Return the subagents of each id separately; ids that started none are left out."""
    started = _by_starter(conn)
    return {each: _all_below(started, [each]) for each in ids if each in started}


def _by_starter(conn: sqlite3.Connection) -> dict[str, list[str]]:
    """Return sessions of subagents by their parent and by the session that their mark names."""
    mark = lineage.marker("_delegate_from", "s")
    rows = conn.execute(
        f"SELECT s.id, s.parent_session_id, {mark} FROM sessions AS s "
        f"WHERE instr(s.model_config, '_delegate_from') AND {mark} IS NOT NULL ORDER BY s.id"
    ).fetchall()
    started: dict[str, list[str]] = defaultdict(list)
    for session_id, parent, starter in rows:
        for one in {parent, starter} - {None}:
            started[one].append(session_id)
    return started


def _all_below(started: Mapping[str, Sequence[str]], ids: Collection[str]) -> list[str]:
    found: dict[str, None] = {}
    waiting = list(ids)
    while waiting:
        for agent in started.get(waiting.pop(), ()):
            if agent not in found and agent not in ids:
                found[agent] = None
                waiting.append(agent)
    return list(found)


def remove(conn: sqlite3.Connection, ids: Sequence[str], agents: Iterable[str] = ()) -> list[str]:
    """Delete sessions inside a write transaction; remaining children are detached.

    Args:
        conn: Inside the transaction.
        ids: Ids that have rows.
        agents: Sessions of their subagents, found before; those without a row are ignored.

    Returns:
        All deleted ids, those of subagents last.

    Raises:
        RefusedError: An unknown table still refers to one of them.
    """
    gone = list(dict.fromkeys((*ids, *existing(conn, agents))))
    try:
        for start in range(0, len(gone), _CHUNK):
            chunk = gone[start : start + _CHUNK]
            conn.execute(
                "UPDATE sessions SET parent_session_id = NULL "
                f"WHERE parent_session_id IN ({marks(chunk)})",
                chunk,
            )
            conn.execute(f"DELETE FROM messages WHERE session_id IN ({marks(chunk)})", chunk)
            conn.execute(f"DELETE FROM sessions WHERE id IN ({marks(chunk)})", chunk)
    except sqlite3.IntegrityError as error:
        if getattr(error, "sqlite_errorcode", 0) not in _REFERRED_TO:
            raise
        raise _refused() from error
    return gone


def _refused() -> RefusedError:
    return RefusedError(
        "This chat belongs to Hermes' gateway.",
        "A part of the store that Hermes Desktop does not know still refers to it.",
        "Delete it with `hermes sessions delete`.",
    )


def refuse_if_referred_to(conn: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Check before a long deletion for references that :func:`remove` would only meet at its end.

    Raises:
        RefusedError: An unknown table still refers to one of them.
    """
    found = conn.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall()
    for table in {row[0] for row in found} - {"sessions", "messages"}:
        for key in conn.execute(f"PRAGMA main.foreign_key_list({quoted(table)})").fetchall():
            if key["table"].lower() == "sessions" and key["on_delete"] in {"NO ACTION", "RESTRICT"}:
                for chunk in chunks(ids):
                    sql = f"SELECT 1 FROM main.{quoted(table)} WHERE {quoted(key['from'])} IN "
                    if conn.execute(f"{sql}({marks(chunk)}) LIMIT 1", chunk).fetchone():
                        raise _refused()


def forget_routes(conn: sqlite3.Connection, scope: str, ids: Collection[str]) -> None:
    """Delete the routing rows of one scope that refer to these sessions."""
    wanted = set(ids)
    rows = conn.execute(
        "SELECT session_key, CASE WHEN json_valid(entry_json) "
        "THEN json_extract(entry_json, '$.session_id') END FROM gateway_routing WHERE scope = ?",
        (scope,),
    ).fetchall()
    conn.executemany(
        "DELETE FROM gateway_routing WHERE scope = ? AND session_key = ?",
        [(scope, row[0]) for row in rows if row[1] in wanted],
    )


@dataclass(frozen=True, slots=True)
class Portion:
    """Sessions that are deleted together, each with those of its subagents.

    Attributes:
        is_long: Only one, too long for one transaction.
    """

    agents: Mapping[str, Sequence[str]]
    is_long: bool = False


def portions(
    conn: sqlite3.Connection, ids: Sequence[str], agents: Mapping[str, Sequence[str]]
) -> Iterator[Portion]:
    """Split ids into portions for one short transaction each; a long session is one portion."""
    portion: dict[str, Sequence[str]] = {}
    messages = size = 0
    for session_id in ids:
        family = (session_id, *agents.get(session_id, ()))
        extents = [_extent(conn, each) for each in family]
        more, larger = sum(count for count, _ in extents), sum(bytes_ for _, bytes_ in extents)
        full = len(portion) >= MOST_SESSIONS or messages + more > MOST_MESSAGES
        if portion and (full or size + larger > MOST_BYTES):
            yield Portion(portion)
            portion, messages, size = {}, 0, 0
        if more > MOST_MESSAGES or larger > MOST_BYTES:
            yield Portion({session_id: family[1:]}, is_long=True)
            continue
        portion[session_id] = family[1:]
        messages += more
        size += larger
    if portion:
        yield Portion(portion)


def _extent(conn: sqlite3.Connection, session_id: str) -> tuple[int, int]:
    """Return how many messages a session has, and about how many of their bytes are indexed."""
    row = conn.execute(
        "SELECT count(*), coalesce(sum(coalesce(length(CAST(content AS BLOB)), 0) "
        "+ coalesce(length(CAST(tool_calls AS BLOB)), 0)), 0) FROM messages WHERE session_id = ?",
        (session_id,),
    ).fetchone()
    return row[0], row[1]


def remove_files(folder: Path, ids: Iterable[str]) -> None:
    """Delete files of older releases and error dumps of these sessions."""
    for session_id in ids:
        if not is_safe_session_id(session_id):
            continue
        dumps = folder.glob(f"request_dump_{glob.escape(session_id)}_*.json")
        for file in (folder / f"{session_id}.json", folder / f"{session_id}.jsonl", *dumps):
            with contextlib.suppress(OSError):
                file.unlink()


NEVER_USED = (
    "s.title IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id) "
    "AND NOT EXISTS (SELECT 1 FROM sessions AS c WHERE c.parent_session_id = s.id)"
)


def ids_where(conn: sqlite3.Connection, condition: str, *values: object) -> list[str]:
    """Return ids of the sessions ``s`` for which a condition holds, the oldest first."""
    rows = conn.execute(
        f"SELECT s.id FROM sessions AS s WHERE {condition} ORDER BY s.started_at, s.id", values
    )
    return [row[0] for row in rows.fetchall()]
