"""Files of older and newer releases: read as they are, written without hurting them."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_desktop.core.errors import StateReadOnlyError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.database.schema import full_text_ddl
from hermes_desktop.state.facade.activity_index import ActivityIndex
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher
from tests.fakes import state_files
from tests.fakes.clock import MovableClock


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


def refuses_to_write(db: SessionDB, why: str) -> None:
    condition = db.condition
    assert not condition.writable
    assert why in condition.reason
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


def write_everything(path: Path) -> None:
    """What a person does with a store; the counters, the index and the number stay right."""
    with contextlib.closing(SessionDB(path)) as db:
        assert db.condition.writable
        assert db.condition.notice
        row_id = db.append_message("b", "user", "zebra words", api_content="as sent")
        assert db.messages_by_ids([row_id])[0].content == "zebra words"
        db.create_session("new", "cli", model="m", cwd="/x", profile_name="work")
        db.append_message("new", "user", "hello there")
        db.update_token_counts("new", 5, 6, model="m", billing_provider="p", api_call_count=1)
        assert db.set_session_title("new", "Fresh")
        assert db.set_session_archived("b", True)
        db.rewind_to_message("b", row_id)
        db.end_session("new", "tui_close")
        row = db.get_session("new") or {}
        assert (row["title"], row["cwd"], row["input_tokens"]) == ("Fresh", "/x", 5)
        assert (db.get_session("a") or {})["archived"] == 1
        assert (db.get_session("b") or {})["rewind_count"] == 1
        db.set_session_archived("b", False)
        assert {line.id for line in db.list_summaries()} == {"b", "new"}


def version_of(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        found = "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'zebra'"
        assert conn.execute(found).fetchone()[0] == 1
        return int(conn.execute("SELECT version FROM schema_version").fetchone()[0])


@pytest.mark.parametrize("version", state_files.OLD_VERSIONS)
def test_older_files_are_read_and_left_alone(tmp_path: Path, version: int) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, version)
    fill(conn)
    conn.close()
    before = state_files.dump(path)
    read_everything(path)
    assert state_files.dump(path) == before


@pytest.mark.parametrize("version", state_files.OLD_VERSIONS)
def test_older_files_are_widened_by_the_first_change_and_keep_their_number(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, version)
    fill(conn)
    conn.close()
    write_everything(path)
    assert version_of(path) == version
    new = tmp_path / "new.db"
    SessionDB(new).close()
    assert columns(path) == columns(new)
    with contextlib.closing(sqlite3.connect(path)) as conn:
        assert conn.execute("SELECT count(*) FROM session_model_usage").fetchone()[0] == 0


def columns(path: Path) -> dict[str, set[tuple[object, ...]]]:
    """Name, type, rule and default of every column; an added one stands at the end."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        names = conn.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE '%fts%'")
        return {
            f"{kind} {name}": {
                row[1:] for row in conn.execute(f'PRAGMA table_info("{name}")').fetchall()
            }
            for kind, name in names.fetchall()
        }


def test_several_programs_widen_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, 11)
    fill(conn)
    conn.close()
    errors: list[BaseException] = []
    barrier = threading.Barrier(5)

    def append() -> None:
        try:
            with contextlib.closing(SessionDB(path)) as db:
                assert len(db.list_summaries()) == 1
                barrier.wait(60)
                for _ in range(5):
                    db.append_message("b", "user", "zebra")
                    assert db.list_summaries()[0].id == "b"
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=append) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with contextlib.closing(SessionDB(path)) as db:
        assert db.message_count("b") == 27


def test_an_old_usage_table_is_left_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, 20)
    conn.execute(
        "CREATE TABLE session_model_usage (session_id TEXT NOT NULL REFERENCES sessions(id) "
        "ON DELETE CASCADE, model TEXT NOT NULL, PRIMARY KEY (session_id, model))"
    )
    fill(conn)
    write_everything(path)
    names = [row[1] for row in conn.execute("PRAGMA table_info(session_model_usage)")]
    assert names == ["session_id", "model"]
    assert conn.execute("SELECT count(*) FROM session_model_usage").fetchone()[0] == 0
    conn.close()
    assert version_of(path) == 20


def test_two_sessions_of_one_title_do_not_stop_the_widening(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, 13)
    conn.execute("DROP INDEX idx_sessions_title_unique")
    fill(conn)
    for name in "cd":
        state_files.add_session(conn, name, title="T")
    conn.close()
    with contextlib.closing(SessionDB(path)) as db:
        db.append_message("a", "user", "x")
        assert [db.get_session_title(name) for name in "cd"] == ["T", "T"]


def test_very_old_files_are_only_read(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, 11)
    conn.execute("UPDATE schema_version SET version = 10")
    fill(conn)
    conn.close()
    before = state_files.dump(path)
    with contextlib.closing(SessionDB(path)) as db:
        assert db.list_summaries()[0].preview == "next words"
        refuses_to_write(db, "version 10")
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
    assert state_files.dump(path) == before


@pytest.mark.parametrize("version", [23, 27, 30, 99])
def test_newer_files_are_written_and_keep_their_shape(tmp_path: Path, version: int) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_newer_file(path, version)
    fill(conn)
    conn.close()
    before = shape(path)
    write_everything(path)
    assert version_of(path) == version
    assert shape(path) == before
    with contextlib.closing(SessionDB(path)) as db:
        assert (db.get_session("new") or {})["title_source"] == "user"
        assert (db.get_session("a") or {})["title_source"] is None
        assert db.create_branch(Branch("b", "branch")) == 2
        assert db.import_sessions([db.export_session_lineage("new") or {}])["skipped"] == 1
        assert db.delete_sessions(["a"])
        assert db.get_session("sub") is None
        assert db.delete_sessions(["new"])
        check = "INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)"
        db._execute_write(lambda conn: conn.execute(check))
    assert shape(path) == before


def test_prompts_that_a_newer_file_keeps_by_their_hash(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_newer_file(path, 27)
    conn.execute("INSERT INTO system_prompts VALUES ('h', 'You are helpful.')")
    state_files.add_session(conn, "named", system_prompt_hash="h", title="Trip")
    state_files.add_session(conn, "plain", system_prompt="You are plain.")
    state_files.add_session(conn, "none")
    conn.close()

    def prompt(db: SessionDB, session_id: str) -> object:
        return (db.get_session(session_id) or {})["system_prompt"]

    with contextlib.closing(SessionDB(path)) as db:
        found = [prompt(db, name) for name in ("named", "plain", "none")]
        assert found == ["You are helpful.", "You are plain.", None]
        assert (db.export_session_lineage("named") or {})["system_prompt"] == "You are helpful."
        assert {row["system_prompt"] for row in db.list_sessions_rich()} == set(found)
        db.create_branch(Branch("named", "branch"))
        assert prompt(db, "branch") == "You are helpful."
        stored = "SELECT system_prompt, system_prompt_hash FROM main.sessions WHERE id = 'branch'"
        assert tuple(db.read(lambda conn: conn.execute(stored).fetchone())) == (None, "h")
        assert (db.get_session("branch") or {})["title_source"] == "branch"
        db.ensure_session("named", system_prompt="another")
        assert prompt(db, "named") == "You are helpful."


def test_what_newer_files_note_beside(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    state_files.make_newer_file(path, 27).close()
    clock = MovableClock()
    with contextlib.closing(SessionDB(path, clock=clock)) as db:
        db.create_session("a", "cli")
        db.append_message("a", "user", "x", timestamp=5.0)
        clock.advance(60.0)
        db.append_message("a", "assistant", None, tool_calls=[{"id": "1"}])
        assert db.set_auto_title_if_empty("a", "Guessed")
        row = db.get_session("a") or {}
        assert (row["created_source"], row["title_source"]) == ("cli", "llm")
        assert row["last_activity_at"] == clock.time()
        assert (row["message_count"], row["tool_call_count"]) == (2, 1)


def shape(path: Path) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        found = conn.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
        return found.fetchall()


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda conn: state_files.lose_tokenizer(conn, "messages_fts_cjk"), "cjk_unicode61"),
        (
            lambda conn: conn.execute("ALTER TABLE messages RENAME COLUMN api_content TO sent"),
            "messages.api_content",
        ),
        (state_files.demand_mood, "sessions.mood"),
    ],
)
def test_a_newer_layout_that_cannot_be_written_safely_is_only_read(
    tmp_path: Path, damage: Callable[[sqlite3.Connection], object], why: str
) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_newer_file(path, 28)
    fill(conn)
    damage(conn)
    conn.close()
    before = shape(path)
    with contextlib.closing(SessionDB(path)) as db:
        assert db.list_summaries()[0].preview == "next words"
        refuses_to_write(db, why)
    assert shape(path) == before


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
