"""Rows exactly as they are stored: read with all columns, kept as JSON text, written again.

Columns this version does not know are kept like all others, and so are texts that are no UTF-8.
"""

import base64
import contextlib
import itertools
import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Row = dict[str, Any]

CHUNK = 200
"""So many values fit well into one statement."""


class BadText(bytes):
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
        kind = "text" if isinstance(value, BadText) else "blob"
        return {kind: base64.b64encode(value).decode("ascii")}
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        raw = base64.b64decode(text)
        return BadText(raw) if kind == "text" else raw
    return value


def stored_text(raw: bytes) -> Any:
    """A stored text; what is no UTF-8 stays as it is, so that it can be written back."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return BadText(raw)


@contextlib.contextmanager
def texts_as_stored(conn: sqlite3.Connection) -> Iterator[None]:
    """Let queries give texts exactly as stored."""
    before = conn.text_factory
    conn.text_factory = stored_text
    try:
        yield
    finally:
        conn.text_factory = before


@contextlib.contextmanager
def one_view(conn: sqlite3.Connection) -> Iterator[None]:
    """Let several queries see one state of the file, with texts exactly as stored."""
    with texts_as_stored(conn):
        conn.execute("BEGIN")
        try:
            yield
        finally:
            conn.execute("COMMIT")


def rows_by_id(
    conn: sqlite3.Connection, table: str, column: str, values: Sequence[Any]
) -> list[Row]:
    """All columns of the rows with these values, of a session its number, too."""
    number = "rowid, " if table == "sessions" else ""
    found: list[Row] = []
    with texts_as_stored(conn):
        for chunk in chunks(values):
            sql = f"SELECT {number}* FROM main.{table} WHERE {column} IN ({marks(chunk)})"
            found += map(dict, conn.execute(sql, chunk).fetchall())
    return found


def insert_row(
    conn: sqlite3.Connection, table: str, present: Collection[str], row: Row, conflict: str = ""
) -> None:
    """Insert those columns of a row that the table has."""
    insert_rows(conn, table, present, [row], conflict)


def insert_rows(
    conn: sqlite3.Connection,
    table: str,
    present: Collection[str],
    rows: Sequence[Row],
    conflict: str = "",
) -> None:
    """Insert rows in order; one statement for many, because each one makes the indexes write."""
    for names, alike in itertools.groupby(rows, key=tuple):
        kept = [name for name in names if name in present]
        into = f"INSERT {conflict} INTO {table} ({', '.join(map(quoted, kept))}) VALUES "
        for chunk in chunks(list(alike) if kept else []):
            values = [[row[name] for name in kept] for row in chunk]
            forms = (f"({', '.join(map(place, each))})" for each in values)
            conn.execute(into + ", ".join(forms), list(itertools.chain.from_iterable(values)))


def place(value: Any) -> str:
    """What stands for a value in a statement that stores it."""
    return "CAST(? AS TEXT)" if isinstance(value, BadText) else "?"


def insertable(conn: sqlite3.Connection, table: str) -> frozenset[str]:
    """What :func:`insert_row` may name."""
    return frozenset(("rowid", *columns(conn, table)))


def columns(conn: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """The columns a table has; none when there is no such table."""
    return tuple(row[1] for row in conn.execute(f"PRAGMA main.table_info({table})").fetchall())


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it is made of."""
    return '"' + name.replace('"', '""') + '"'


def marks(values: Collection[Any]) -> str:
    """As many question marks as values."""
    return ", ".join("?" * len(values))


def chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Values in portions that fit into one statement."""
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]
