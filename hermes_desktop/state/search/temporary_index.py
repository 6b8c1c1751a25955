"""A temporary full-text table in memory that checks which of a few messages match a query.

It is created with the options of the stored one, so that the same engine splits the texts into the
same words. Its result for a message is what the stored index would return.
"""

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from hermes_desktop.state.search.search_index import asking

Row: TypeAlias = tuple[Any, ...]
"""The id of a message and its indexed texts as bytes, one per column of the index."""

Order: TypeAlias = Literal["newest", "best"]

_ARGUMENTS = re.compile(r"fts5\s*\((.*)\)", re.IGNORECASE | re.DOTALL)
_ARGUMENT = re.compile(r"""(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|[^,'"])+""")
_COLUMN = re.compile(r"""\s*(?:'[^']*'|"[^"]*"|\[[^]]*\]|`[^`]*`|\S+)(.*)""", re.DOTALL)
_WHERE_TEXT_IS = re.compile(r"\s*(content|content_rowid|contentless_delete|columnsize|prefix)\s*=")
_ORDERS = {"newest": "rowid DESC", "best": "rank"}


class TemporaryIndex:
    """A full-text table that holds messages only while they are checked.

    Used on one thread; close it.

    Args:
        conn: A connection to the file, used only to create the table.
        table: The stored full-text table.

    Raises:
        IndexBrokenError: The table could not be read.
        sqlite3.OperationalError: There is no such table, or this SQLite cannot create one like it.
    """

    def __init__(self, conn: sqlite3.Connection, table: str) -> None:
        with asking():
            made_by = conn.execute(
                "SELECT sql FROM main.sqlite_master WHERE name = ? AND type = 'table'", (table,)
            ).fetchone()
            columns = [row[1] for row in conn.execute(f"PRAGMA main.table_info({table})")]
        arguments = _ARGUMENTS.search("" if made_by is None else str(made_by[0]))
        if arguments is None:
            raise sqlite3.OperationalError(f"{table} is not a full-text table")
        texts = ", ".join(f"coalesce(CAST(\"{name}\" AS BLOB), x'')" for name in columns)
        self._read = f"SELECT rowid, {texts} FROM main.{table} WHERE rowid "
        names = ", ".join(f"c{number}" for number in range(len(columns)))
        marks = ", ".join("?" * (len(columns) + 1))
        self._insert = f"INSERT INTO t (rowid, {names}) VALUES ({marks})"
        self._conn = sqlite3.connect(":memory:", isolation_level=None)
        try:
            self._conn.execute(f"CREATE VIRTUAL TABLE t USING fts5({_alike(arguments.group(1))})")
        except BaseException:
            self._conn.close()
            raise

    def close(self) -> None:
        """Release the memory."""
        self._conn.close()

    def read(self, conn: sqlite3.Connection, message_id: int) -> Row | None:
        """Return a message as the stored index has it, None when the index does not contain it."""
        return self._row(conn, "= ?", message_id)

    def read_from(self, conn: sqlite3.Connection, message_id: int) -> Row | None:
        """Return the message with this id, or with the next greater one."""
        return self._row(conn, ">= ? ORDER BY rowid LIMIT 1", message_id)

    def _row(self, conn: sqlite3.Connection, which: str, message_id: int) -> Row | None:
        cursor = conn.cursor()
        cursor.row_factory = None
        found: Row | None = cursor.execute(self._read + which, (message_id,)).fetchone()
        return found

    @contextlib.contextmanager
    def holding(self, rows: Iterable[Row]) -> Iterator[None]:
        """Hold these messages for the duration of a ``with`` block."""
        self._conn.execute("BEGIN")
        try:
            self._conn.executemany(self._insert, rows)
            yield
        finally:
            self._conn.execute("ROLLBACK")

    def find(self, expression: str, order: Order = "newest") -> list[int]:
        """Return the ids of the held messages that match."""
        found = self._conn.execute(
            f"SELECT rowid FROM t WHERE t MATCH ? ORDER BY {_ORDERS[order]}", (expression,)
        )
        return [row[0] for row in found.fetchall()]


def _alike(arguments: str) -> str:
    """Return the same columns under generic names and the same options, without stored text."""
    kept = _ARGUMENT.findall(arguments)
    columns = [
        match.group(1) for each in kept if "=" not in each and (match := _COLUMN.match(each))
    ]
    options = [each for each in kept if "=" in each and not _WHERE_TEXT_IS.match(each)]
    named = [f"c{number}{rest}" for number, rest in enumerate(columns)]
    return ", ".join([*named, *options, "content=''"])
