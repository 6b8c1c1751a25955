"""Sessions in transit: rows hidden from all lists while their messages are moved in several steps.

The programs that share the file never show a session of a subagent. A session in transit is
disguised as an orphaned subagent, archived and ended, without title, parent or chat, so that no
list, title or chat leads to it. The original row is stored in its mark, with the process that works
on it.

Where the file has a search index that leaves subagents out, a session of it is not disguised as
one: its messages would enter and leave the session unknown to the index. There the column
``hidden`` keeps it out of the lists.
"""

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hermes_desktop.core.processes.liveness import is_running
from hermes_desktop.state.records.content_codec import decode_json
from hermes_desktop.state.records.stored_rows import (
    Row,
    decode_row,
    encode_row,
    insert_row,
    insertable,
    marks,
    place,
    quoted,
    rows_by_id,
)
from hermes_desktop.state.sessions import titles

_KEY = "_hermes_desktop"
_STARTER = "_delegate_from"
_NOBODY = "__orphaned__"
_UNINDEXED = frozenset({"cron", "subagent"})
_SOURCE = "tool"
_END = "session_reset"
_PATIENCE_S = 600.0


class Way(Enum):
    """The operation on a session in transit."""

    TO_TRASH = "to-trash"
    FROM_TRASH = "from-trash"
    FOR_GOOD = "for-good"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark in the row of a session in transit.

    Attributes:
        way: The operation.
        token: The same for all sessions of one operation.
        at: When the operation began, epoch seconds.
        upto: The greatest row id of a message that belongs to it.
        pid: The process that works on it.
    """

    way: Way
    token: str
    at: float
    upto: int = 0
    pid: int = 0

    def is_abandoned(self, now: float) -> bool:
        """Return whether the operation was abandoned: its process is gone, or took far too long."""
        return not 0.0 <= now - self.at < _PATIENCE_S or not is_running(
            self.pid, if_unknown=True, zombies=True
        )


def covered(row: Mapping[str, Any], mark: Mark, *, as_subagent: bool = True) -> Row:
    """Return the columns of a row that differ in transit, with their values then."""
    ended = row.get("ended_at")
    cover: Row = {
        "source": _SOURCE,
        "title": None,
        "parent_session_id": None,
        "session_key": None,
        "handoff_state": None,
        "ended_at": mark.at if ended is None else ended,
        "end_reason": _END,
        "archived": 1,
        "hidden": 1,
        "pinned": 0,
    }
    values = {name: value for name, value in cover.items() if name in row}
    was = encode_row({name: row[name] for name in (*values, "model_config")})
    facts = {"way": mark.way.value, "token": mark.token, "at": mark.at}
    facts |= {"upto": mark.upto, "pid": mark.pid, "was": was}
    disguise = {_STARTER: _NOBODY} if as_subagent else {}
    return {**values, "model_config": json.dumps({**disguise, _KEY: facts})}


def _disguised(conn: sqlite3.Connection, row: Mapping[str, Any], mark: Mark) -> Row:
    """Return the columns in transit that keep the session's messages in or out of the indexes."""
    excluded = row["source"] in _UNINDEXED or _is_subagent(row["model_config"])
    return covered(row, mark, as_subagent=excluded or not _index_knows_subagents(conn))


def _is_subagent(config: Any) -> bool:
    decoded = decode_json(config)
    return isinstance(decoded, dict) and decoded.get(_STARTER) is not None


def _index_knows_subagents(conn: sqlite3.Connection) -> bool:
    """Return whether an index of the file depends on which sessions are subagents'."""
    found = conn.execute(
        "SELECT 1 FROM main.sqlite_master WHERE type IN ('view', 'trigger') "
        "AND name LIKE 'messages_fts%' AND instr(sql, ?) LIMIT 1",
        (_STARTER,),
    )
    return found.fetchone() is not None


def read_mark(config: Any) -> Mark | None:
    """Return the mark in a row's settings; None for a session that is not in transit."""
    facts = _facts(config)
    if facts is None:
        return None
    try:
        way = Way(facts["way"])
        return Mark(way, facts["token"], facts["at"], facts["upto"], facts["pid"])
    except (KeyError, ValueError):  # of a later version
        return None


def _facts(config: Any) -> dict[str, Any] | None:
    if not isinstance(config, str) or _KEY not in config:
        return None
    decoded = decode_json(config)
    facts = decoded.get(_KEY) if isinstance(decoded, dict) else None
    return facts if isinstance(facts, dict) else None


def marked(conn: sqlite3.Connection, ids: Collection[str]) -> dict[str, Mark | None]:
    """Return those of the sessions that have a row, with their marks."""
    rows = rows_by_id(conn, "sessions", "id", list(ids))
    return {row["id"]: read_mark(row["model_config"]) for row in rows}


def on_their_way(conn: sqlite3.Connection) -> Iterator[tuple[str, Mark]]:
    """Yield all sessions in transit."""
    rows = conn.execute(
        "SELECT id, model_config FROM sessions WHERE source = ? AND instr(model_config, ?) "
        "ORDER BY id",
        (_SOURCE, _KEY),
    ).fetchall()
    for row in rows:
        mark = read_mark(row[1])
        if mark is not None:
            yield row[0], mark


def all_carry(conn: sqlite3.Connection, ids: Collection[str], token: str) -> bool:
    """Return whether all these sessions exist, with the mark of this operation."""
    found = marked(conn, ids)
    return len(found) == len(ids) and all(
        mark is not None and mark.token == token for mark in found.values()
    )


def is_in_transit(conn: sqlite3.Connection, session_id: str) -> bool:
    """Return whether a session exists, but is in transit."""
    return any(mark is not None for mark in marked(conn, [session_id]).values())


NOT_ON_ITS_WAY = f"NOT (s.source = '{_SOURCE}' AND coalesce(instr(s.model_config, '{_KEY}'), 0))"
"""SQL condition for sessions that are not in transit."""


def hide(conn: sqlite3.Connection, ids: Collection[str], mark: Mark) -> None:
    """Hide sessions for an operation, inside a write transaction; their children are detached."""
    conn.execute(
        "UPDATE sessions SET parent_session_id = NULL "
        f"WHERE parent_session_id IN ({marks(ids)}) AND id NOT IN ({marks(ids)})",
        (*ids, *ids),
    )
    for row in rows_by_id(conn, "sessions", "id", list(ids)):
        _overwrite(conn, row["id"], _disguised(conn, row, mark))


def insert_hidden(conn: sqlite3.Connection, row: Row, mark: Mark) -> None:
    """Insert a session that is in transit."""
    present = insertable(conn, "sessions")
    whole: Row = {name: 0 for name in ("archived", "hidden", "pinned") if name in present}
    whole |= {"model_config": None, **row}
    insert_row(conn, "sessions", present, {**whole, **_disguised(conn, whole, mark)})


def reveal(conn: sqlite3.Connection, ids: Collection[str]) -> dict[str, str]:
    """Restore the original columns of sessions, inside a write transaction.

    A column that another writer changed in the meantime keeps its value, a title that is taken gets
    its next number, and a deleted parent is left out.

    Returns:
        The titles that had to change, by session id.
    """
    retitled: dict[str, str] = {}
    parents: list[tuple[str, str]] = []
    for row in rows_by_id(conn, "sessions", "id", list(ids)):
        facts, mark = _facts(row["model_config"]), read_mark(row["model_config"])
        if facts is None or mark is None:
            continue
        was = decode_row(facts["was"])
        cover = covered({**row, **was}, mark)
        looks = {name: value for name, value in was.items() if row.get(name) == cover.get(name)}
        looks["model_config"] = was["model_config"]
        title = looks.get("title")
        if isinstance(title, str) and _is_taken(conn, title):
            looks["title"] = retitled[row["id"]] = titles.next_title(conn, title)
        parents.append((row["id"], looks.pop("parent_session_id", None) or ""))
        _overwrite(conn, row["id"], looks)
    tie(conn, parents)
    return retitled


def tie(conn: sqlite3.Connection, links: Collection[tuple[str, str]]) -> None:
    """Restore the parent of children, if it exists and they have no other."""
    conn.executemany(
        "UPDATE sessions SET parent_session_id = ?2 WHERE id = ?1 AND parent_session_id IS NULL "
        "AND EXISTS (SELECT 1 FROM sessions WHERE id = ?2)",
        links,
    )


def _is_taken(conn: sqlite3.Connection, title: str) -> bool:
    row = conn.execute("SELECT 1 FROM sessions WHERE title = ?", (title,)).fetchone()
    return row is not None


def _overwrite(conn: sqlite3.Connection, session_id: str, values: Row) -> None:
    places = ", ".join(f"{quoted(name)} = {place(value)}" for name, value in values.items())
    conn.execute(f"UPDATE sessions SET {places} WHERE id = ?", (*values.values(), session_id))
