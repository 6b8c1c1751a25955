"""Consistency check between the messages and the full-text indexes.

The index's own list of rows is used, which all layouts have. An index of a later layout reads its
texts from a view, which may leave messages out; that view determines which rows must be indexed.
Nothing is written.
"""

import sqlite3
from dataclasses import dataclass

from hermes_desktop.state.database.schema import FULL_TEXT, FileLayout
from hermes_desktop.state.records.cancellation import CancelSignal, stoppable
from hermes_desktop.state.records.sqlite_errors import is_busy, primary_code
from hermes_desktop.state.records.stored_rows import quoted
from hermes_desktop.state.search.search_index import Layout, content_source, layout_of

_EVENTS = ("insert", "delete", "update")


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """The health of one full-text table.

    Attributes:
        layout: Where it stores its text; None when there is no such table.
        missing: Messages that are not in it; None when that was not checked.
        surplus: Rows in it without a message; None as above.
        stale: Rows whose text differs from the message; None when not compared.
        missing_triggers: Missing triggers, which would keep it up to date.
        damage: The error of SQLite, "" when it can be read.
    """

    table: str
    layout: Layout | None
    missing: int | None = None
    surplus: int | None = None
    stale: int | None = None
    missing_triggers: tuple[str, ...] = ()
    damage: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the table exists and has no problem."""
        wrong = self.missing or self.surplus or self.stale or self.missing_triggers or self.damage
        return self.layout is not None and not wrong


INDEXED_TEXT = (
    "coalesce(m.content, '') || ' ' || coalesce(m.tool_name, '') || ' ' || "
    "coalesce(m.tool_calls, '')"
)
"""The text of a message ``m`` in the inline index, in SQL."""


def check_indexes(
    conn: sqlite3.Connection, layout: FileLayout, *, compare: bool, cancel: CancelSignal | None
) -> tuple[IndexHealth, ...]:
    """Compare the full-text tables with the messages.

    Args:
        conn: Connection for reading.
        layout: The schema of the file.
        compare: Also compare the texts, which reads everything.
        cancel: Set from any thread to stop.

    Raises:
        StoppedError: It was cancelled.
        sqlite3.Error: The messages cannot be read.
    """
    return tuple(
        stoppable(conn, lambda c: _look_at(c, layout, table, compare=compare), cancel)  # noqa: B023
        for table in FULL_TEXT
    )


def _look_at(
    conn: sqlite3.Connection, layout: FileLayout, table: str, *, compare: bool
) -> IndexHealth:
    kind = layout_of(conn, table)
    names = tuple(f"{table}_{event}" for event in _EVENTS)
    lacking = tuple(name for name in names if name not in layout.objects)
    if kind is None:
        return IndexHealth(table, None, missing_triggers=lacking)
    listed, source = f"{table}_docsize", f"main.{quoted(content_source(conn, table))}"
    try:
        conn.execute(f"SELECT 1 FROM {table} WHERE {table} MATCH 'hello' LIMIT 1").fetchall()
        missing = _count(
            conn,
            f"SELECT count(*) FROM {source} AS m "
            f"WHERE NOT EXISTS (SELECT 1 FROM {listed} AS d WHERE d.id = m.id)",
        )
        surplus = _count(
            conn,
            f"SELECT count(*) FROM {listed} AS d "
            f"WHERE NOT EXISTS (SELECT 1 FROM {source} AS m WHERE m.id = d.id)",
        )
        stale = None
        if compare and kind == "inline":
            stale = _count(
                conn,
                f"SELECT count(*) FROM {table}_content AS t "
                f"JOIN main.messages AS m ON m.id = t.id WHERE t.c0 IS NOT ({INDEXED_TEXT})",
            )
    except sqlite3.DatabaseError as error:
        if is_busy(error) or primary_code(error) == sqlite3.SQLITE_INTERRUPT:
            raise
        return IndexHealth(table, kind, missing_triggers=lacking, damage=str(error))
    return IndexHealth(table, kind, missing, surplus, stale, lacking)


def _count(conn: sqlite3.Connection, sql: str) -> int:
    return int(conn.execute(sql).fetchone()[0])
