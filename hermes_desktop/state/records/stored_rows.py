"""Rows exactly as stored: read with all columns, serialized as JSON text, and inserted again.

Columns this version does not know are kept like all others, and so are texts that are not UTF-8.
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
"""Number of values that fit well into one statement."""


class BadText(bytes):
    """A stored text that is not UTF-8."""

    __slots__ = ()


def encode_row(row: Mapping[str, Any]) -> str:
    """Return a row as JSON text that decodes to exactly the same values."""
    return json.dumps({name: _encoded(value) for name, value in row.items()}, ensure_ascii=False)


def decode_row(text: str) -> Row:
    """Decode a row encoded by :func:`encode_row`."""
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
    """Decode a stored text; bytes that are not UTF-8 are kept, so that they can be written back."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return BadText(raw)


@contextlib.contextmanager
def texts_as_stored(conn: sqlite3.Connection) -> Iterator[None]:
    """Make queries return texts exactly as stored."""
    before = conn.text_factory
    conn.text_factory = stored_text
    try:
        yield
    finally:
        conn.text_factory = before


@contextlib.contextmanager
def read_snapshot(conn: sqlite3.Connection) -> Iterator[None]:
    """Run several queries on one snapshot of the file, with texts exactly as stored."""
    with texts_as_stored(conn):
        conn.execute("BEGIN")
        try:
            yield
        finally:
            conn.execute("COMMIT")


def rows_by_id(
    conn: sqlite3.Connection, table: str, column: str, values: Sequence[Any]
) -> list[Row]:
    """Return all columns of the rows with these values; for sessions, also the rowid."""
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
    """Insert the columns of a row that the table has."""
    insert_rows(conn, table, present, [row], conflict)


def insert_rows(
    conn: sqlite3.Connection,
    table: str,
    present: Collection[str],
    rows: Sequence[Row],
    conflict: str = "",
) -> None:
    """Insert rows in order, many per statement, because each statement updates the indexes."""
    for names, alike in itertools.groupby(rows, key=tuple):
        kept = [name for name in names if name in present]
        into = f"INSERT {conflict} INTO {table} ({', '.join(map(quoted, kept))}) VALUES "
        for chunk in chunks(list(alike) if kept else []):
            values = [[row[name] for name in kept] for row in chunk]
            forms = (f"({', '.join(map(place, each))})" for each in values)
            conn.execute(into + ", ".join(forms), list(itertools.chain.from_iterable(values)))


def place(value: Any) -> str:
    """Return the placeholder for a value in a statement that stores it."""
    return "CAST(? AS TEXT)" if isinstance(value, BadText) else "?"


def insertable(conn: sqlite3.Connection, table: str) -> frozenset[str]:
    """Return the column names that :func:`insert_row` may use."""
    return frozenset(("rowid", *columns(conn, table)))


def columns(conn: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """Return the columns of a table; empty when there is no such table."""
    return tuple(row[1] for row in conn.execute(f"PRAGMA main.table_info({table})").fetchall())


def quoted(name: str) -> str:
    """Return a name quoted for SQL, whatever characters it contains."""
    return '"' + name.replace('"', '""') + '"'


def marks(values: Collection[Any]) -> str:
    """Return as many placeholders as there are values."""
    return ", ".join("?" * len(values))


def chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split values into chunks that fit into one statement."""
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]
