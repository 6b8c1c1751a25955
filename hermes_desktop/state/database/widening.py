"""Upgrade of a file of another version so that it can be written, and the reasons that prevent it.

A file of an older version gets the columns, tables and indexes it lacks, exactly as version 22 has
them, and keeps its number, so that the program that owns it still does its own migrations later.
Nothing is ever added to a file of a newer version.
"""

import sqlite3
from collections.abc import Iterator

from hermes_desktop.state.database.schema import (
    INDEXES,
    SCHEMA_VERSION,
    TABLES,
    FileLayout,
    index_ddl,
    read_layout,
    table_ddl,
)

OLDEST_WRITABLE = 11
"""The oldest version that can be written; before it the search index was built differently."""

_LEFT_TO_ITS_OWNER = {"schema_version", "session_model_usage"}
"""Tables that are not widened: an old usage table lacks a key column; its owner rebuilds it."""


def may_widen(version: int | None) -> bool:
    """Return whether missing parts may be added to a file of this version."""
    return version is not None and OLDEST_WRITABLE <= version < SCHEMA_VERSION


def additions(layout: FileLayout) -> Iterator[str]:
    """Yield the statements that bring columns, tables and indexes up to version 22, in order."""
    for table, columns in TABLES.items():
        if table not in layout.objects:
            yield table_ddl(table, columns)
        elif table not in _LEFT_TO_ITS_OWNER:
            for column in layout.missing(table):
                rule = f" {column.rule}" if column.rule else ""
                yield f'ALTER TABLE {table} ADD COLUMN "{column.name}" {column.kind}{rule}'
    for name in INDEXES:
        if name not in layout.objects:
            yield index_ddl(name)


def widen(conn: sqlite3.Connection) -> None:
    """Add what is missing, inside a write transaction; a second call finds nothing to add.

    Two sessions with the same title keep it: the unique index is then left to the program that owns
    the file, which removes the title from one of them.
    """
    layout = read_layout(conn)
    if not may_widen(layout.version):
        return
    for statement in additions(layout):
        try:
            conn.execute(statement)
        except sqlite3.IntegrityError:
            if not statement.startswith("CREATE UNIQUE INDEX"):
                raise


def needs_widening(layout: FileLayout) -> bool:
    """Return whether a column or a table is missing that the statements of this program use.

    A missing index alone is no reason: it may be missing because it cannot be created.
    """
    if not may_widen(layout.version):
        return False
    return any(
        not statement.startswith("CREATE") or "TABLE" in statement.split()[:2]
        for statement in additions(layout)
    )


def has_unmarked_messages(conn: sqlite3.Connection, layout: FileLayout) -> bool:
    """Return whether messages are marked neither active nor inactive, so that no query finds them.

    Files in which the column was added without a constraint may have such rows.
    """
    known = layout.version is not None and layout.version <= SCHEMA_VERSION
    if not known or "active" not in layout.columns["messages"]:
        return False
    nullable = any(
        row[1] == "active" and not row[3]
        for row in conn.execute("PRAGMA main.table_info(messages)").fetchall()
    )
    found = "SELECT 1 FROM messages WHERE active IS NULL LIMIT 1"
    return nullable and conn.execute(found).fetchone() is not None


def mark_messages(conn: sqlite3.Connection) -> None:
    """Mark those messages as active, as the program that owns the file does."""
    conn.execute("UPDATE messages SET active = 1 WHERE active IS NULL")


def obstacles(conn: sqlite3.Connection, layout: FileLayout) -> list[str]:
    """Return why a file of a newer version cannot be written safely, as text; [] if it can."""
    lacking = [
        f"{table}.{column.name}"
        for table in ("sessions", "messages", "state_meta")
        for column in layout.missing(table)
    ]
    found = [f"it lacks {', '.join(lacking)}"] if lacking else []
    for table in ("sessions", "messages"):
        known = {column.name for column in TABLES[table]}
        demanded = [
            f"{table}.{row[1]}"
            for row in conn.execute(f'PRAGMA main.table_info("{table}")')
            if row[1] not in known and row[3] and row[4] is None and not row[5]
        ]
        if demanded:
            found.append(f"it requires {', '.join(demanded)}")
    return found + list(broken_indexes(conn, layout))


def broken_indexes(conn: sqlite3.Connection, layout: FileLayout) -> Iterator[str]:
    """Yield search indexes this SQLite cannot load; each message added would fail on them."""
    names = conn.execute(
        "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name LIKE 'messages\\_fts%' "
        "ESCAPE '\\' AND sql LIKE 'CREATE VIRTUAL TABLE%'"
    ).fetchall()
    for (name,) in names:
        if f"{name}_insert" not in layout.objects:  # no trigger fills it
            continue
        try:
            conn.execute(f'SELECT rowid FROM main."{name}" LIMIT 0').fetchall()
        except sqlite3.OperationalError as error:
            if "no such" not in str(error):  # a lock, for example
                raise
            yield f"its search index {name} needs a part that this SQLite lacks ({error})"
