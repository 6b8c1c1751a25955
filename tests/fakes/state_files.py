"""Files of other Hermes releases, generated from the facts in state/schema.py."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.schema import (
    INDEXES,
    TABLES,
    Column,
    full_text_ddl,
    index_ddl,
    table_ddl,
)

OLD_VERSIONS = (11, 13, 14, 16, 17, 19)
NEW_SESSION_COLUMNS = (
    Column("system_prompt_hash", "TEXT"),
    Column("title_source", "TEXT"),
    Column("created_source", "TEXT"),
    Column("last_activity_at", "REAL"),
    Column("pinned", "INTEGER", "NOT NULL DEFAULT 0"),
    Column("hidden", "INTEGER", "NOT NULL DEFAULT 0"),
)
NEW_MESSAGE_COLUMNS = (
    Column("_compressed_summary", "INTEGER", "NOT NULL DEFAULT 0"),
    Column("display_kind", "TEXT"),
    Column("display_identity", "BLOB"),
)


def make_old_file(path: Path, version: int) -> sqlite3.Connection:
    """Create a file of an older version; the caller closes the returned connection."""
    conn = _empty(path)
    for table, columns in TABLES.items():
        present = tuple(column for column in columns if column.since <= version)
        if present:
            conn.execute(table_ddl(table, present))
    for name in INDEXES:
        try:
            conn.execute(index_ddl(name))
        except sqlite3.OperationalError as error:
            if "no such" not in str(error):  # an index on a column or table that this version lacks
                raise
    for statement in full_text_ddl():
        conn.execute(statement)
    conn.execute("INSERT INTO schema_version VALUES (?)", (version,))
    return conn


def make_newer_file(path: Path, version: int = 27) -> sqlite3.Connection:
    """Create a file of a later version: more columns and tables, another kind of text index."""
    conn = _empty(path)
    more = {"sessions": NEW_SESSION_COLUMNS, "messages": NEW_MESSAGE_COLUMNS}
    for table, columns in TABLES.items():
        conn.execute(table_ddl(table, (*columns, *more.get(table, ()))))
    for name in INDEXES:
        conn.execute(index_ddl(name))
    conn.execute("CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT)")
    conn.execute("CREATE TABLE session_turn_leases (session_id TEXT PRIMARY KEY, holder TEXT)")
    conn.execute(
        "CREATE VIEW messages_fts_src AS SELECT id, content, tool_name, tool_calls FROM messages"
    )
    conn.execute(
        "CREATE VIRTUAL TABLE messages_fts USING fts5(content, tool_name, tool_calls, "
        "content='messages_fts_src', content_rowid='id')"
    )
    for statement in _newer_triggers():
        conn.execute(statement)
    conn.execute("INSERT INTO schema_version VALUES (?)", (version,))
    return conn


def _newer_triggers() -> Iterator[str]:
    """Yield triggers for an index that refers to the messages, with its 'delete' command."""
    names = "content, tool_name, tool_calls"
    add = f"INSERT INTO messages_fts (rowid, {names}) VALUES (new.id, {_each('new')});"
    remove = (
        f"INSERT INTO messages_fts (messages_fts, rowid, {names}) "
        f"VALUES ('delete', old.id, {_each('old')});"
    )
    for event, body in (("insert", add), ("delete", remove), ("update", f"{remove} {add}")):
        when = f"messages_fts_{event} AFTER {event.upper()} ON messages"
        yield f"CREATE TRIGGER {when} BEGIN {body} END"


def _each(row: str) -> str:
    return f"{row}.content, {row}.tool_name, {row}.tool_calls"


def lose_tokenizer(conn: sqlite3.Connection, table: str) -> None:
    """Create an index with a tokenizer that this SQLite lacks."""
    conn.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(content, tokenize='unicode61')")
    conn.execute(
        f"CREATE TRIGGER {table}_insert AFTER INSERT ON messages BEGIN "
        f"INSERT INTO {table} (rowid, content) VALUES (new.id, new.content); END"
    )
    conn.execute("PRAGMA writable_schema=ON")
    conn.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'unicode61', 'cjk_unicode61') WHERE name = ?",
        (table,),
    )
    conn.execute("PRAGMA writable_schema=RESET")


def demand_mood(conn: sqlite3.Connection) -> None:
    """Add a mandatory column without a default."""
    conn.execute("ALTER TABLE sessions ADD COLUMN mood TEXT")
    conn.execute("PRAGMA writable_schema=ON")
    conn.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'mood TEXT', 'mood TEXT NOT NULL') "
        "WHERE name = 'sessions'"
    )
    conn.execute("PRAGMA writable_schema=RESET")


def add_session(conn: sqlite3.Connection, session_id: str, **columns: object) -> None:
    """Insert a session row with these columns and the mandatory ones."""
    values = {"id": session_id, "source": "cli", "started_at": 1_000.0, **columns}
    _insert(conn, "sessions", values)


def add_message(conn: sqlite3.Connection, session_id: str, **columns: object) -> None:
    """Insert a message row with these columns and the mandatory ones."""
    values = {
        "session_id": session_id,
        "role": "user",
        "content": "hello",
        "timestamp": 1_000.0,
        **columns,
    }
    _insert(conn, "messages", values)


def dump(path: Path) -> list[tuple[object, ...]]:
    """Return every object and every row of a file, for comparison."""
    conn = sqlite3.connect(path)
    try:
        objects = conn.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
        found: list[tuple[object, ...]] = objects.fetchall()
        tables = [row[1] for row in found if row[0] == "table" and "fts" not in str(row[1])]
        for table in tables:
            found += conn.execute(f'SELECT * FROM "{table}"').fetchall()
    finally:
        conn.close()
    return found


def conversations(db: SessionDB) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of the tables of conversations, and of their indexes."""
    tables = ("sessions", "messages", "session_model_usage", "messages_fts", "messages_fts_trigram")

    def select(conn: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
        return {
            table: sorted(map(tuple, conn.execute(f"SELECT {number}* FROM {table}")), key=repr)
            for table in tables
            for number in ("" if table == "session_model_usage" else "rowid, ",)
        }

    return db.read(select)


def _empty(path: Path) -> sqlite3.Connection:
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA journal_mode=WAL")
    return conn


def _insert(conn: sqlite3.Connection, table: str, values: dict[str, object]) -> None:
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    conn.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))
