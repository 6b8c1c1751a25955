import os
import sqlite3
import stat
from pathlib import Path

import pytest

from hermes_desktop.state import SCHEMA_VERSION, SessionDB
from hermes_desktop.state.database.schema import FULL_TEXT, INDEXES, TABLES, Column, read_layout


def objects(path: Path) -> dict[str, str]:
    conn = sqlite3.connect(path)
    try:
        return dict(conn.execute("SELECT name, type FROM sqlite_master").fetchall())
    finally:
        conn.close()


def test_new_file_has_all_tables_indexes_and_triggers(db: SessionDB, path: Path) -> None:
    found = objects(path)
    assert all(found[table] == "table" for table in (*TABLES, *FULL_TEXT))
    assert all(found[index] == "index" for index in INDEXES)
    triggers = {name for name, kind in found.items() if kind == "trigger"}
    assert triggers == {f"{t}_{e}" for t in FULL_TEXT for e in ("insert", "delete", "update")}
    assert db.layout.version == SCHEMA_VERSION
    assert db.layout.lacks == ()
    assert db.condition.writable


def test_new_file_is_for_its_owner_only_whatever_the_umask(path: Path) -> None:
    before = os.umask(0o000)
    try:
        SessionDB(path).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_new_file_is_plain_wal_with_one_version_row(db: SessionDB) -> None:
    def look(conn: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "user_version", "application_id", "auto_vacuum", "foreign_keys")
        values: list[object] = [conn.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
        versions = conn.execute("SELECT version FROM schema_version").fetchall()
        return [*values, [tuple(row) for row in versions]]

    assert db.read(look) == ["wal", 0, 0, 0, 1, [(22,)]]


def test_zero_byte_file_is_a_new_file(path: Path) -> None:
    path.parent.mkdir()
    path.touch(0o640)
    store = SessionDB(path)
    assert store.condition.writable
    store.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_opening_again_changes_nothing(db: SessionDB, path: Path) -> None:
    db.create_session("a", "cli")
    before = objects(path)
    again = SessionDB(path)
    assert again.get_session("a") is not None
    again.close()
    assert objects(path) == before


def test_triggers_index_content_tool_name_and_calls(db: SessionDB) -> None:
    db.create_session("a", "cli")
    row = db.append_message("a", "user", "hello")
    db.append_message("a", "tool", "out", tool_name="terminal", tool_calls=[{"id": "c1"}])

    def texts(conn: sqlite3.Connection) -> list[str]:
        return [r[0] for r in conn.execute("SELECT content FROM messages_fts ORDER BY rowid")]

    assert db.read(texts) == ["hello  ", 'out terminal [{"id": "c1"}]']
    db._execute_write(lambda conn: conn.execute("DELETE FROM messages WHERE id = ?", (row,)))
    assert len(db.read(texts)) == 1


@pytest.mark.parametrize(
    ("rule", "default"),
    [("", "NULL"), ("NOT NULL DEFAULT 1", "1"), ("NOT NULL DEFAULT ''", "''")],
)
def test_default_of_a_column(rule: str, default: str) -> None:
    assert Column("x", "TEXT", rule).default == default


def test_layout_of_an_empty_file() -> None:
    layout = read_layout(sqlite3.connect(":memory:"))
    assert layout.is_empty
    assert not layout.is_ours
    assert layout.version is None
