"""The full-text tables of a file: which there are, whether they can be asked, and asking them.

Both layouts are asked alike: one column, or three read from the messages themselves (the stored
CREATE statement tells). Nothing here writes.
"""

import contextlib
import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, TypeAlias

from hermes_desktop.state.database.schema import FULL_TEXT, FileLayout
from hermes_desktop.state.records.sqlite_errors import is_busy, primary_code
from hermes_desktop.state.search.search_query import Way
from hermes_desktop.state.search.search_records import SearchNotice

INDEX_OF: dict[Way, str] = {"words": "messages_fts", "trigram": "messages_fts_trigram"}
_FIRST_RELIABLE_VERSION = 11
_EVENTS = ("insert", "delete", "update")

Layout: TypeAlias = Literal["inline", "external"]


MISSING = SearchNotice(
    "index-missing", "This session database has no search index; all messages were read instead."
)
DAMAGED = SearchNotice(
    "index-damaged",
    "The search index is damaged; all messages were read instead. A repair can build it anew.",
)
INCOMPLETE = SearchNotice(
    "index-incomplete",
    "The search index is not kept up to date at present; messages may be missing here.",
)


class IndexBrokenError(Exception):
    """The index could not be asked; the messages themselves may well be in order."""


def layout_of(conn: sqlite3.Connection, table: str) -> Layout | None:
    """Where a full-text table keeps its text; None when the file has no such table."""
    row = conn.execute(
        "SELECT sql FROM main.sqlite_master WHERE name = ? AND type = 'table'", (table,)
    ).fetchone()
    if row is None:
        return None
    return "external" if "tool_name" in str(row[0]) else "inline"


def content_source(conn: sqlite3.Connection, table: str) -> str:
    """The table or view of this file whose rows an index covers; the messages by default."""
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
    """Which of the six triggers that feed the index are not there."""
    names = (f"{table}_{event}" for table in FULL_TEXT for event in _EVENTS)
    return tuple(name for name in names if name not in layout.objects)


def notice_about(conn: sqlite3.Connection, layout: FileLayout, way: Way) -> SearchNotice | None:
    """What stands against asking the index, looked up in the file as it is now."""
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
    """Row ids of what any of the indexes finds, the greatest first, only those below one."""
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
    """Row ids of what any of the indexes finds, the best match first.

    Args:
        conn: To read with.
        expressions: Which index to ask for what.
        limit: At most so many; -1 for all.
        newest: Compare only so many of the newest matches of each index, for comparing costs a
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
    """The row id above which so many matches lie; walking over them costs nanoseconds each."""
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
    found = select_ids(conn, sql, (expression, newest))
    return found[0] if found else 0


def select_ids(conn: sqlite3.Connection, sql: str, values: Collection[object]) -> list[int]:
    """The first column of a query that asks an index.

    Raises:
        IndexBrokenError: The index did not answer; another way may.
    """
    cursor = conn.cursor()
    cursor.row_factory = None
    with asking():
        return [row[0] for row in cursor.execute(sql, tuple(values)).fetchall()]


@contextlib.contextmanager
def asking() -> Iterator[None]:
    """Tell damage of the index, inside a ``with`` block, from other trouble.

    Raises:
        IndexBrokenError: The index did not answer; another way may.
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
