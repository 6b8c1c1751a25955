"""The rows that belong to a conversation, and the copy of them that the trash stores."""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from hermes_desktop.state.database.chunked_writes import Piece
from hermes_desktop.state.records.stored_rows import (
    CHUNK,
    Row,
    chunks,
    columns,
    decode_row,
    encode_row,
)
from hermes_desktop.state.sessions import deletion, lineage
from hermes_desktop.state.sessions.transit_rows import is_in_transit

NAMED_PROMPTS = "system_prompts"
_KINDS = {"sessions": "id", "messages": "session_id", "session_model_usage": "session_id"}


# ------------------------------------------------------------------------------ belongings


@dataclass(frozen=True, slots=True)
class ConversationScope:
    """The sessions that belong together, and their links to other sessions.

    Attributes:
        root_id: The first segment, or the only session.
        session_ids: All segments, forks too, with their subagents, the oldest first; or only one.
        links: Child and parent, where one of the two is among them and the other is not.
    """

    root_id: str
    session_ids: tuple[str, ...]
    links: tuple[tuple[str, str], ...]


def belongings(conn: sqlite3.Connection, session_id: str) -> ConversationScope | None:
    """Return everything that is deleted with this conversation; None for an unknown id."""
    scope = deletion.conversation_scope(conn, session_id)
    if not scope.session_ids or is_in_transit(conn, session_id):
        return None
    ids = (*scope.session_ids, *scope.subagent_ids)
    root = [ids[0], *lineage.compression_ancestors(conn, ids[0])][-1]
    inside = set(ids)
    links = tuple(pair for pair in _links(conn, ids) if not inside.issuperset(pair))
    return ConversationScope(root, ids, links)


def ended_session(conn: sqlite3.Connection, session_id: str) -> ConversationScope | None:
    """Return one session without its conversation, for a prune; None if unknown or open again."""
    row = conn.execute(
        "SELECT 1 FROM sessions WHERE id = ? AND ended_at IS NOT NULL", (session_id,)
    ).fetchone()
    if row is None or is_in_transit(conn, session_id):
        return None
    ids = (session_id,)
    return ConversationScope(
        session_id, ids, tuple(pair for pair in _links(conn, ids) if len({*pair}) > 1)
    )


def _links(conn: sqlite3.Connection, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    for chunk in chunks(ids):
        marks = ", ".join("?" * len(chunk))
        for row in conn.execute(
            "SELECT id, parent_session_id FROM sessions WHERE parent_session_id IS NOT NULL "
            f"AND (id IN ({marks}) OR parent_session_id IN ({marks})) ORDER BY id",
            (*chunk, *chunk),
        ).fetchall():
            yield row[0], row[1]


def fingerprint(conn: sqlite3.Connection, what: ConversationScope) -> tuple[object, ...]:
    """Return a fingerprint that verifies a copy before the originals are deleted.

    Any change to the originals results in another one. Quick enough for a write transaction: only
    rows of these sessions and their children are read.
    """
    flags = [n for n in ("active", "compacted") if n in columns(conn, "messages")]
    # Not sum(), which fails when values of another program add up to more than 64 bits.
    sums = "".join(f", sum({name} IS 1), sum({name} IS 0), total({name})" for name in flags)
    seen: list[object] = [what.session_ids, *_links(conn, what.session_ids)]
    for chunk in chunks(what.session_ids):
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


def size_of(conn: sqlite3.Connection, what: ConversationScope) -> int:
    """Return the approximate size of the rows in bytes."""
    total = 0
    for table, key in _KINDS.items():
        names = columns(conn, table)
        if not names:
            continue
        length = " + ".join(f'coalesce(length(CAST("{name}" AS BLOB)), 0)' for name in names)
        for chunk in chunks(what.session_ids):
            row = conn.execute(
                f"SELECT sum({length}) FROM main.{table} "
                f"WHERE {key} IN ({', '.join('?' * len(chunk))})",
                chunk,
            ).fetchone()
            total += row[0] or 0
    return total


def rows_of(conn: sqlite3.Connection, what: ConversationScope) -> Iterator[tuple[str, str]]:
    """Yield kind and text of every row, with few at a time in memory."""
    for table, key in _KINDS.items():
        if not columns(conn, table):
            continue
        order = " ORDER BY +id" if table == "messages" else ""
        # Sessions that were started at the same moment are listed in the order of their row ids.
        number = "rowid, " if table == "sessions" else ""
        for session_id in what.session_ids:
            cursor = conn.execute(
                f"SELECT {number}* FROM main.{table} WHERE {key} = ?{order}", (session_id,)
            )
            while rows := cursor.fetchmany(CHUNK):
                yield from ((table, encode_row(dict(row))) for row in rows)
    for row in _named_prompts(conn, what):
        yield NAMED_PROMPTS, encode_row(row)


def _named_prompts(conn: sqlite3.Connection, what: ConversationScope) -> list[Row]:
    """Return the prompts these sessions refer to by hash, which later versions store once each.

    Their program deletes such a prompt as soon as no session refers to it any more.
    """
    if "hash" not in columns(conn, NAMED_PROMPTS):
        return []
    found: dict[object, Row] = {}
    for chunk in chunks(what.session_ids):
        rows = conn.execute(
            f"SELECT p.* FROM main.{NAMED_PROMPTS} AS p JOIN main.sessions AS s "
            f"ON s.system_prompt_hash = p.hash WHERE s.id IN ({', '.join('?' * len(chunk))})",
            chunk,
        ).fetchall()
        found |= {row["hash"]: dict(row) for row in rows}
    return list(found.values())


# ------------------------------------------------------------------------------------- the copy


@dataclass(slots=True)
class Kept:
    """The rows of one conversation in the trash.

    Attributes:
        prompts: The prompts that this program sends, by session.
        system_prompts: Those of the shared file that its sessions refer to by a hash.
    """

    sessions: list[Row] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)
    usage: list[Row] = field(default_factory=list)
    prompts: list[Row] = field(default_factory=list)
    system_prompts: list[Row] = field(default_factory=list)
    links: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, rows: Collection[tuple[str, str]], links: Collection[tuple[str, str]]) -> "Kept":
        """Group rows of :func:`rows_of` by kind."""
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

    @property
    def ids(self) -> tuple[str, ...]:
        """The original ids of its sessions."""
        return tuple(row["id"] for row in self.sessions)

    def pieces(self) -> list[Piece[Row]]:
        """Return its messages in order, each with the length of its text."""
        return [
            Piece(row, sum(len(each) for each in row.values() if isinstance(each, str | bytes)))
            for row in sorted(self.messages, key=lambda row: row["id"])
        ]


def existing(conn: sqlite3.Connection, ids: Collection[str]) -> dict[str, int]:
    """Return the sessions that exist, with the number of their message rows."""
    found: dict[str, int] = {}
    for chunk in chunks(list(ids)):
        for row in conn.execute(
            "SELECT s.id, (SELECT count(*) FROM messages AS m WHERE m.session_id = s.id) "
            f"FROM sessions AS s WHERE s.id IN ({', '.join('?' * len(chunk))})",
            chunk,
        ).fetchall():
            found[row[0]] = row[1]
    return found
