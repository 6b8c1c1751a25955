"""The full-text tables of a file: which exist, whether they are usable, and queries on them.

Both layouts are queried alike: one column, or three read from the messages themselves (the stored
CREATE statement shows which). Nothing here writes.
"""

import contextlib
import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, TypeAlias

from hermes_desktop.state.database.schema import FULL_TEXT, FileLayout
from hermes_desktop.state.records.sqlite_errors import is_busy, primary_code
from hermes_desktop.state.search.search_query import MAX_CHARS, MAX_TERMS, Way
from hermes_desktop.state.search.search_records import SearchNotice

INDEX_OF: dict[Way, str] = {"words": "messages_fts", "trigram": "messages_fts_trigram"}
_FIRST_RELIABLE_VERSION = 11
_EVENTS = ("insert", "delete", "update")

Layout: TypeAlias = Literal["inline", "external"]


MISSING = SearchNotice(
    "index-missing", "This session database has no search index, so all messages were read instead."
)
DAMAGED = SearchNotice(
    "index-damaged",
    "The search index is damaged, so all messages were read instead. A repair can rebuild it.",
)
INCOMPLETE = SearchNotice(
    "index-incomplete",
    "The search index is not up to date; some messages may be missing here.",
)


SHORTENED = SearchNotice(
    "query-shortened",
    f"The text is too long for a search: only its first {MAX_TERMS} words within "
    f"{MAX_CHARS:,} characters were used.",
)


class IndexBrokenError(Exception):
    """The index could not be queried; the messages themselves may well be intact."""


def layout_of(conn: sqlite3.Connection, table: str) -> Layout | None:
    """Return where a full-text table stores its text; None when the file has no such table."""
    row = conn.execute(
        "SELECT sql FROM main.sqlite_master WHERE name = ? AND type = 'table'", (table,)
    ).fetchone()
    if row is None:
        return None
    return "external" if "tool_name" in str(row[0]) else "inline"


def content_source(conn: sqlite3.Connection, table: str) -> str:
    """Return the table or view whose rows an index covers; the messages by default."""
    row = conn.execute("SELECT sql FROM main.sqlite_master WHERE name = ?", (table,)).fetchone()
    named = re.search(r"(?i)[(,]\s*content\s*=\s*['\"]?(\w+)", str(row[0])) if row else None
    if named is None:
        return "messages"
    found = conn.execute(
        "SELECT 1 FROM main.sqlite_master WHERE name = ? AND type IN ('table', 'view')", (named[1],)
    ).fetchone()
    columns = conn.execute(f'PRAGMA main.table_info("{named[1]}")').fetchall() if found else ()
    return named[1] if any(column[1] == "id" for column in columns) else "messages"


def missing_triggers(layout: FileLayout) -> tuple[str, ...]:
    """Return which of the six triggers that fill the index are missing."""
    names = (f"{table}_{event}" for table in FULL_TEXT for event in _EVENTS)
    return tuple(name for name in names if name not in layout.objects)


def notice_about(conn: sqlite3.Connection, layout: FileLayout, way: Way) -> SearchNotice | None:
    """Return what prevents use of the index, according to the current state of the file."""
    if way == "scan":
        return None
    table = INDEX_OF[way]
    version = layout.version
    if version is not None and version < _FIRST_RELIABLE_VERSION:
        return MISSING
    if layout_of(conn, table) is None:
        return MISSING
    trigger = conn.execute(
        "SELECT 1 FROM main.sqlite_master WHERE name = ? AND type = 'trigger'", (f"{table}_insert",)
    ).fetchone()
    return INCOMPLETE if trigger is None else None


Expressions: TypeAlias = Sequence[tuple[Way, str]]


def ids_newest_first(
    conn: sqlite3.Connection, expressions: Expressions, *, below: int | None, limit: int
) -> list[int]:
    """Return row ids that any of the indexes finds, greatest first, only those below a limit."""
    edge = "" if below is None else " AND rowid < ?"
    found: set[int] = set()
    for way, expression in expressions:
        table = INDEX_OF[way]
        values = (expression, limit) if below is None else (expression, below, limit)
        sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ?{edge} ORDER BY rowid DESC LIMIT ?"
        found.update(select_ids(conn, sql, values))
    return sorted(found, reverse=True)[:limit]


def ids_best_first(
    conn: sqlite3.Connection, expressions: Expressions, *, limit: int, newest: int | None = None
) -> list[int]:
    """Return row ids that any of the indexes finds, the best match first.

    Args:
        conn: Connection for reading.
        expressions: The expression for each index.
        limit: Maximum number of ids; -1 for all.
        newest: Rank only this many of the newest matches of each index, because ranking costs a
            microsecond each; None for all.
    """
    found: dict[int, None] = {}
    for way, expression in expressions:
        table = INDEX_OF[way]
        above = 0 if newest is None else _edge(conn, table, expression, newest)
        sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid > ? ORDER BY rank LIMIT ?"
        found.update(dict.fromkeys(select_ids(conn, sql, (expression, above, limit))))
    return list(found) if limit < 0 else list(found)[:limit]


def _edge(conn: sqlite3.Connection, table: str, expression: str, newest: int) -> int:
    """Return the row id above which this many matches lie; skipping them costs nanoseconds each."""
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
    found = select_ids(conn, sql, (expression, newest))
    return found[0] if found else 0


def select_ids(conn: sqlite3.Connection, sql: str, values: Collection[object]) -> list[int]:
    """Return the first column of a query on an index.

    Raises:
        IndexBrokenError: The index failed; another way may work.
    """
    cursor = conn.cursor()
    cursor.row_factory = None
    with asking():
        return [row[0] for row in cursor.execute(sql, tuple(values)).fetchall()]


@contextlib.contextmanager
def asking() -> Iterator[None]:
    """Distinguish, inside a ``with`` block, damage of the index from other errors.

    Raises:
        IndexBrokenError: The index failed; another way may work.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        if is_busy(error) or primary_code(error) in _NOT_THE_INDEX:
            raise
        raise IndexBrokenError(str(error)) from error


_NOT_THE_INDEX = {
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
}
