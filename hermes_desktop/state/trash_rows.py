"""Conversations as rows: which rows belong to one, how a row is kept, how it is put back.

Rows are kept with all columns as found, also those this version does not know.
"""

import base64
import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.state import deletion, lineage, titles

Row = dict[str, Any]

_CHUNK = 200
_KINDS = {"sessions": "id", "messages": "session_id", "session_model_usage": "session_id"}
_MARKERS = ("_delegate_from", "_branched_from")


class _BadText(bytes):
    """A stored text that is no UTF-8."""

    __slots__ = ()


def encode_row(row: Mapping[str, Any]) -> str:
    """A row as JSON text from which the very same values come back."""
    return json.dumps({name: _encoded(value) for name, value in row.items()}, ensure_ascii=False)


def decode_row(text: str) -> Row:
    """The row of :func:`encode_row`."""
    return {name: _decoded(value) for name, value in json.loads(text).items()}


def _encoded(value: Any) -> Any:
    if isinstance(value, bytes):
        kind = "text" if isinstance(value, _BadText) else "blob"
        return {kind: base64.b64encode(value).decode("ascii")}
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        raw = base64.b64decode(text)
        return _BadText(raw) if kind == "text" else raw
    return value


def stored_text(raw: bytes) -> Any:
    """A stored text; what is no UTF-8 stays as it is, so that it can be written back."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return _BadText(raw)


@contextlib.contextmanager
def one_view(conn: sqlite3.Connection) -> Iterator[None]:
    """Let several queries see one state of the file, with texts exactly as stored."""
    before = conn.text_factory
    conn.text_factory = stored_text
    conn.execute("BEGIN")
    try:
        yield
    finally:
        conn.text_factory = before
        conn.execute("COMMIT")


# ------------------------------------------------------------------------------ what belongs to it


@dataclass(frozen=True, slots=True)
class Belongings:
    """The sessions that go together, and what hangs on them from outside.

    Attributes:
        root_id: The first segment, or the only session.
        session_ids: All segments, forks too, with their subagents, the oldest first; or only one.
        links: Child and parent, where one of the two is among them and the other is not.
    """

    root_id: str
    session_ids: tuple[str, ...]
    links: tuple[tuple[str, str], ...]


def belongings(conn: sqlite3.Connection, session_id: str) -> Belongings | None:
    """Everything that goes when this conversation goes; None for an unknown id."""
    scope = deletion.conversation_scope(conn, session_id)
    if not scope.session_ids:
        return None
    ids = (*scope.session_ids, *scope.subagent_ids)
    root = [ids[0], *lineage.compression_ancestors(conn, ids[0])][-1]
    inside = set(ids)
    links = tuple(pair for pair in _links(conn, ids) if not inside.issuperset(pair))
    return Belongings(root, ids, links)


def ended_session(conn: sqlite3.Connection, session_id: str) -> Belongings | None:
    """One session without its conversation, as a prune takes it; None if unknown or open again."""
    row = conn.execute(
        "SELECT 1 FROM sessions WHERE id = ? AND ended_at IS NOT NULL", (session_id,)
    ).fetchone()
    if row is None:
        return None
    ids = (session_id,)
    return Belongings(
        session_id, ids, tuple(pair for pair in _links(conn, ids) if len({*pair}) > 1)
    )


def _links(conn: sqlite3.Connection, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    for chunk in _chunks(ids):
        marks = ", ".join("?" * len(chunk))
        for row in conn.execute(
            "SELECT id, parent_session_id FROM sessions WHERE parent_session_id IS NOT NULL "
            f"AND (id IN ({marks}) OR parent_session_id IN ({marks})) ORDER BY id",
            (*chunk, *chunk),
        ).fetchall():
            yield row[0], row[1]


def fingerprint(conn: sqlite3.Connection, what: Belongings) -> tuple[object, ...]:
    """What a copy is compared by before the originals go: any change makes another one.

    Quick enough for a write transaction: only rows of these sessions and their children are read.
    """
    flags = [n for n in ("active", "compacted") if n in _columns(conn, "messages")]
    sums = "".join(f", sum({name})" for name in flags)
    seen: list[object] = [what.session_ids, *_links(conn, what.session_ids)]
    for chunk in _chunks(what.session_ids):
        marks = ", ".join("?" * len(chunk))
        rows = conn.execute(
            f"SELECT * FROM main.sessions WHERE id IN ({marks}) ORDER BY id", chunk
        ).fetchall()
        seen += [encode_row(dict(row)) for row in rows]
        rows = conn.execute(
            f"SELECT session_id, count(*), max(id){sums} FROM main.messages "
            f"WHERE session_id IN ({marks}) GROUP BY session_id ORDER BY session_id",
            chunk,
        ).fetchall()
        seen += [tuple(row) for row in rows]
    return tuple(seen)


def size_of(conn: sqlite3.Connection, what: Belongings) -> int:
    """About how many bytes the rows hold."""
    total = 0
    for table, key in _KINDS.items():
        names = _columns(conn, table)
        if not names:
            continue
        length = " + ".join(f'coalesce(length(CAST("{name}" AS BLOB)), 0)' for name in names)
        for chunk in _chunks(what.session_ids):
            row = conn.execute(
                f"SELECT sum({length}) FROM main.{table} "
                f"WHERE {key} IN ({', '.join('?' * len(chunk))})",
                chunk,
            ).fetchone()
            total += row[0] or 0
    return total


def rows_of(conn: sqlite3.Connection, what: Belongings) -> Iterator[tuple[str, str]]:
    """Kind and text of every row, few at a time in memory."""
    for table, key in _KINDS.items():
        if not _columns(conn, table):
            continue
        order = " ORDER BY +id" if table == "messages" else ""
        # Sessions that began at the same moment are listed in the order of their numbers.
        number = "rowid, " if table == "sessions" else ""
        for session_id in what.session_ids:
            cursor = conn.execute(
                f"SELECT {number}* FROM main.{table} WHERE {key} = ?{order}", (session_id,)
            )
            while rows := cursor.fetchmany(_CHUNK):
                yield from ((table, encode_row(dict(row))) for row in rows)


# ------------------------------------------------------------------------------------ putting back


@dataclass(slots=True)
class Kept:
    """The rows of one conversation in the trash."""

    sessions: list[Row] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)
    usage: list[Row] = field(default_factory=list)
    links: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, rows: Collection[tuple[str, str]], links: Collection[tuple[str, str]]) -> "Kept":
        """Sort rows of :func:`rows_of` by kind."""
        kept = cls(links=tuple(links))
        lists = {"session_model_usage": kept.usage}
        for kind, text in rows:
            lists.get(kind, getattr(kept, kind, [])).append(decode_row(text))
        return kept

    @property
    def counts(self) -> dict[str, int]:
        """How many messages each session has here."""
        counts = {row["id"]: 0 for row in self.sessions}
        for row in self.messages:
            counts[row["session_id"]] += 1
        return counts


def put_back(conn: sqlite3.Connection, kept: Kept, new_ids: Mapping[str, str]) -> dict[str, str]:
    """Insert the rows, sessions under the ids of ``new_ids``.

    Returns:
        The titles that had to change, by session id.
    """
    retitled = _put_sessions(conn, kept.sessions, new_ids)
    _put_messages(conn, kept.messages, new_ids)
    present = _insertable(conn, "session_model_usage")
    for row in kept.usage:
        values = {**row, "session_id": new_ids[row["session_id"]]}
        _insert(conn, "session_model_usage", present, values, "OR IGNORE")
    _tie(conn, kept.links, new_ids)
    return retitled


def _put_sessions(
    conn: sqlite3.Connection, rows: Sequence[Row], new_ids: Mapping[str, str]
) -> dict[str, str]:
    retitled: dict[str, str] = {}
    present = _insertable(conn, "sessions")
    for row in rows:
        session_id, title = new_ids[row["id"]], row.get("title")
        if isinstance(title, str) and _is_taken(conn, "title", title):
            title = retitled[session_id] = titles.next_title(conn, title)
        config = _remarked(row.get("model_config"), new_ids)
        values = {**row, "id": session_id, "title": title, "model_config": config}
        if _is_taken(conn, "rowid", values["rowid"]):
            del values["rowid"]
        _insert(conn, "sessions", present, {**values, "parent_session_id": None})
    inner = [(row["id"], row.get("parent_session_id")) for row in rows]
    _tie(conn, [(child, parent) for child, parent in inner if parent is not None], new_ids)
    return retitled


def _tie(
    conn: sqlite3.Connection, links: Collection[tuple[str, str]], new_ids: Mapping[str, str]
) -> None:
    """Give children their parent back, if it is there and they have found no other."""
    for child, parent in links:
        conn.execute(
            "UPDATE sessions SET parent_session_id = ?1 WHERE id = ?2 "
            "AND parent_session_id IS NULL AND EXISTS (SELECT 1 FROM sessions WHERE id = ?1)",
            (new_ids.get(parent, parent), new_ids.get(child, child)),
        )


def _put_messages(
    conn: sqlite3.Connection, rows: Sequence[Row], new_ids: Mapping[str, str]
) -> None:
    ordered = sorted(rows, key=lambda row: row["id"])
    ids = [row["id"] for row in ordered]
    taken = any(
        conn.execute(
            f"SELECT 1 FROM messages WHERE id IN ({', '.join('?' * len(chunk))}) LIMIT 1", chunk
        ).fetchone()
        for chunk in _chunks(ids)
    )
    present = _insertable(conn, "messages")
    for row in ordered:
        values = {**row, "session_id": new_ids[row["session_id"]]}
        if taken:
            del values["id"]
        _insert(conn, "messages", present, values)


def _remarked(config: Any, new_ids: Mapping[str, str]) -> Any:
    """The configuration with marks that name a session under its new id."""
    if not isinstance(config, str) or all(old == new for old, new in new_ids.items()):
        return config
    try:
        decoded = json.loads(config)
    except ValueError:
        return config
    if not isinstance(decoded, dict):
        return config
    moved = {n: new_ids[decoded[n]] for n in _MARKERS if decoded.get(n) in new_ids}
    return json.dumps({**decoded, **moved}) if moved else config


def existing(conn: sqlite3.Connection, ids: Collection[str]) -> dict[str, int]:
    """How many message rows those of these sessions have that exist."""
    found: dict[str, int] = {}
    for chunk in _chunks(list(ids)):
        for row in conn.execute(
            "SELECT s.id, (SELECT count(*) FROM messages AS m WHERE m.session_id = s.id) "
            f"FROM sessions AS s WHERE s.id IN ({', '.join('?' * len(chunk))})",
            chunk,
        ).fetchall():
            found[row[0]] = row[1]
    return found


def _is_taken(conn: sqlite3.Connection, column: str, value: str | int) -> bool:
    row = conn.execute(f"SELECT 1 FROM sessions WHERE {column} = ?", (value,)).fetchone()
    return row is not None


def _insert(
    conn: sqlite3.Connection, table: str, present: Collection[str], row: Row, conflict: str = ""
) -> None:
    names = [name for name in row if name in present]
    marks = ["CAST(? AS TEXT)" if isinstance(row[name], _BadText) else "?" for name in names]
    if names:
        conn.execute(
            f"INSERT {conflict} INTO {table} ({', '.join(_quoted(name) for name in names)}) "
            f"VALUES ({', '.join(marks)})",
            [row[name] for name in names],
        )


def _insertable(conn: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(("rowid", *_columns(conn, table)))


def _columns(conn: sqlite3.Connection, table: str) -> tuple[str, ...]:
    return tuple(row[1] for row in conn.execute(f"PRAGMA main.table_info({table})").fetchall())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
