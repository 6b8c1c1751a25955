"""Files of older and newer releases: read, not written, not changed."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from hermes_desktop.core.errors import StateReadOnlyError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.activity_index import ActivityIndex
from hermes_desktop.state.change_watcher import ChangeWatcher
from hermes_desktop.state.schema import full_text_ddl
from tests.fakes import state_files


def fill(conn: sqlite3.Connection) -> None:
    state_files.add_session(conn, "a", title="One", end_reason="compression", ended_at=1.5e3)
    state_files.add_message(conn, "a", content="first words", timestamp=1_001.0)
    state_files.add_session(conn, "b", parent_session_id="a", started_at=2_000.0)
    state_files.add_message(conn, "b", content="next words", timestamp=2_001.0)
    state_files.add_message(conn, "b", role="assistant", content="answer", timestamp=2_002.0)
    state_files.add_session(
        conn, "sub", parent_session_id="a", model_config='{"_delegate_from": "a"}'
    )


def read_everything(path: Path) -> None:
    with contextlib.closing(SessionDB(path)) as db:
        (line,) = db.list_summaries()
        assert (line.id, line.root_id, line.preview) == ("b", "a", "next words")
        assert not line.archived
        assert [row["id"] for row in db.list_sessions_rich(order_by_last_active=True)] == ["b"]
        assert [m.content for m in db.read_messages("b")] == ["next words", "answer"]
        assert [m["content"] for m in db.get_messages("a")] == ["first words"]
        assert len(db.get_messages_as_conversation("b", include_ancestors=True)) == 3
        assert db.session_mark("b") is not None
        assert (db.get_session("a") or {})["archived"] == 0
        assert db.resolve_session_by_title("One") == "a"
        assert db.session_count(exclude_children=True) == 1
        assert len(db.search_sessions()) == 3
        index = ActivityIndex(db)
        index.rebuild()
        assert index.select(empty=None).keys == (("a", "b"),)
        refuses_to_write(db)


def refuses_to_write(db: SessionDB) -> None:
    condition = db.condition
    assert not condition.writable
    assert str(condition.schema_version) in condition.reason
    assert condition.hint
    for call in (
        lambda: db.append_message("a", "user", "x"),
        lambda: db.create_session("new", "cli"),
        lambda: db.set_session_title("a", "x"),
    ):
        with pytest.raises(StateReadOnlyError) as caught:
            call()
        assert (caught.value.detail, caught.value.hint) == (condition.reason, condition.hint)
    assert db.promote_to_session_reset("b") is False


@pytest.mark.parametrize("version", state_files.OLD_VERSIONS)
def test_older_files_are_read_and_left_alone(tmp_path: Path, version: int) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, version)
    fill(conn)
    conn.close()
    before = state_files.dump(path)
    read_everything(path)
    assert state_files.dump(path) == before


@pytest.mark.parametrize("version", [23, 27, 30, 99])
def test_newer_files_are_read_and_left_alone(tmp_path: Path, version: int) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_newer_file(path, version)
    fill(conn)
    state_files.add_session(conn, "secret", hidden=1)
    conn.close()
    before = state_files.dump(path)
    with contextlib.closing(SessionDB(path)) as db:
        assert (db.get_session("secret") or {})["hidden"] == 1
        assert [line.id for line in db.list_summaries()] == ["b"]
        assert "hidden" in db.list_sessions_rich()[0]
        index = ActivityIndex(db)
        index.rebuild()
        assert index.select(empty=None).total == 1
        refuses_to_write(db)
    assert state_files.dump(path) == before


def test_a_newer_layout_at_the_known_version_is_written_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    SessionDB(path).close()
    conn = sqlite3.connect(path)
    conn.execute("ALTER TABLE sessions ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0")
    conn.execute("ALTER TABLE messages ADD COLUMN mood TEXT DEFAULT 'calm'")
    conn.execute("CREATE TABLE notes (text TEXT)")
    conn.execute("INSERT INTO notes VALUES ('keep me')")
    conn.commit()
    conn.close()
    with contextlib.closing(SessionDB(path)) as db:
        assert db.condition.writable
        db.create_session("a", "cli")
        db.append_message("a", "user", "x")
        assert db.get_messages("a")[0]["mood"] == "calm"
        assert db.read(lambda c: c.execute("SELECT text FROM notes").fetchone()[0]) == "keep me"


def test_a_file_that_is_brought_up_to_date_becomes_writable(tmp_path: Path) -> None:
    """Somebody ran the `hermes` command while the store was open here."""
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, 19)
    fill(conn)
    with contextlib.closing(SessionDB(path)) as db, contextlib.closing(conn):
        watcher = ChangeWatcher(path)
        assert not watcher.look()
        assert len(db.list_summaries()) == 1
        migrate(conn, tmp_path)
        assert watcher.look().reload_all
        watcher.close()
        assert len(db.list_summaries()) == 1
        assert db.condition.writable
        db.append_message("b", "user", "now it works")


def migrate(conn: sqlite3.Connection, tmp_path: Path) -> None:
    """Add what version 22 has more."""
    current = tmp_path / "current.db"
    SessionDB(current).close()
    with contextlib.closing(sqlite3.connect(current)) as model:
        wanted = model.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL").fetchall()
        present = {row[0] for row in conn.execute("SELECT name FROM sqlite_master")}
        for table in ("sessions", "messages"):
            have = {row[1] for row in conn.execute(f"PRAGMA table_info({table})")}
            for _, name, kind, notnull, default, _key in model.execute(
                f"PRAGMA table_info({table})"
            ).fetchall():
                if name not in have:
                    rule = f"NOT NULL DEFAULT {default}" if notnull else ""
                    conn.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind} {rule}")
    full_text = {name.split()[2] for name in full_text_ddl()}
    for name, sql in wanted:
        if name not in present and name not in full_text and "fts" not in name:
            conn.execute(sql)
    conn.execute("UPDATE schema_version SET version = 22")
