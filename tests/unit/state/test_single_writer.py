"""Homes whose conversations only Hermes' own gateway writes: they are read, never written."""

import contextlib
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import RefusedError, StateReadOnlyError, StateUnavailableError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.database.home_marks import HomeMarkReader, kind_of_home
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher
from hermes_desktop.state.maintenance.health import health_report
from hermes_desktop.state.maintenance.restore import restore_snapshot
from hermes_desktop.state.maintenance.snapshot import take_snapshot
from hermes_desktop.state.records import meta_table
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from tests.fakes.newest_home import (
    NOW,
    PROMPT,
    answering_socket,
    become_single_writer,
    bytes_of,
    make_newest_file,
)

NEW_GATEWAY = {"protocol": 1, "kind": "gateway", "runtime_protocol": 1, "state": "ready"}
OLD_GATEWAY = {"protocol": 1, "kind": "gateway", "pid": 1}
JOURNALS = ("wal", "delete")


@pytest.fixture(params=JOURNALS)
def journal(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.contextmanager
def opened(path: Path, **options: bool) -> Iterator[SessionDB]:
    with contextlib.closing(SessionDB(path, **options)) as db:
        yield db


def change(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as conn:
        for statement in statements:
            conn.execute(statement)


WRITES: dict[str, Callable[[SessionDB], object]] = {
    "message": lambda db: db.append_message("s_cli", "user", "hello"),
    "session": lambda db: db.create_session("new", "cli"),
    "title": lambda db: db.set_session_title("s_cli", "Other"),
    "end": lambda db: db.end_session("s_cli", "done"),
    "archive": lambda db: db.set_session_archived("s_cli", True),
    "delete": lambda db: db.delete_sessions(["s_arch"]),
    "delete_admitted": lambda db: db.delete_sessions(["s_cli"]),
    "prune": lambda db: db.prune(SessionFilter()),
    "branch": lambda db: db.create_branch(Branch("s_cli", "copy")),
    "import": lambda db: db.import_sessions([{"id": "x", "source": "cli", "messages": []}]),
    "meta": lambda db: db._execute_write(lambda conn: meta_table.put(conn, "desktop:x", "1")),
    "vacuum": lambda db: db.vacuum(),
    "index": lambda db: db.optimize_fts() or db.end_session("s_cli", "x"),
    "rewind": lambda db: db.rewind_to_message("s_cli", 1),
}


@pytest.mark.parametrize("name", WRITES)
def test_every_write_is_refused_and_no_byte_changes(
    tmp_path: Path, journal: str, name: str
) -> None:
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=True, journal=journal)
    before = bytes_of(path)
    with opened(path) as db:
        assert not db.condition.writable
        assert db.condition.home.writer == "gateway"
        with pytest.raises(StateReadOnlyError, match="belongs to Hermes' gateway"):
            WRITES[name](db)
        assert db.get_session("s_cli") is not None
    assert bytes_of(path) == before


def test_a_log_that_was_left_behind_stays(tmp_path: Path) -> None:
    """What another program has in the log is not moved into the file by our opening it."""
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=True)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("UPDATE sessions SET title = 'In the log' WHERE id = 's_cli'")
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("state.db", "state.db-wal"):
        shutil.copyfile(tmp_path / name, crashed / name)
    holder.close()
    before = bytes_of(crashed / "state.db")
    assert before[1]
    with opened(crashed / "state.db") as db:
        assert db.get_session_title("s_cli") == "In the log"
        with pytest.raises(StateReadOnlyError):
            db.set_session_title("s_cli", "Other")
    assert bytes_of(crashed / "state.db") == before


def test_without_the_marks_it_is_written_as_ever(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=False, journal=journal)
    with opened(path) as db:
        assert db.condition.home.may_write
        db.append_message("s_cli", "user", "one more")
        assert db.set_session_title("s_cli", "Other")
        assert db.delete_sessions(["s_arch"])
        db.create_session("new", "cli")
        db.append_message("new", "user", "zebra again")
    with contextlib.closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA journal_mode").fetchone()[0] == journal
        assert conn.execute("SELECT version FROM schema_version").fetchall() == [(30,)]
        for table in ("messages_fts", "messages_fts_trigram"):
            conn.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")


@pytest.mark.parametrize("version", [22, 30])
def test_marks_that_appear_while_the_file_is_open(
    tmp_path: Path, version: int, journal: str
) -> None:
    path = tmp_path / "state.db"
    if version == 30:
        make_newest_file(path, single_writer=False, journal=journal)
    else:
        SessionDB(path).close()
    with opened(path) as db:
        db.ensure_session("s_cli", "cli")
        db.append_message("s_cli", "user", "before")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as conn:
            become_single_writer(conn)
            before = conn.execute("SELECT count(*) FROM messages").fetchone()
            with pytest.raises(StateReadOnlyError, match="belongs to Hermes' gateway"):
                db.append_message("s_cli", "user", "after")
            assert conn.execute("SELECT count(*) FROM messages").fetchone() == before
        assert db.condition.home.writer == "gateway"
        assert db.get_session("s_cli") is not None


def test_marks_that_appear_between_the_look_and_the_transaction(tmp_path: Path) -> None:
    """The lock is taken first and the tables are compared inside, so that nothing slips through."""
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=False)
    ran: list[int] = []
    with opened(path) as db:
        ready = db._file._make_ready

        def late() -> None:
            ready()
            if not ran:
                ran.append(1)
                with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as conn:
                    become_single_writer(conn)

        db._file._make_ready = late  # type: ignore[method-assign]
        with pytest.raises(StateReadOnlyError):
            db.append_message("s_cli", "user", "too late")
        assert ran
        assert db.read(lambda c: c.execute("SELECT count(*) FROM messages").fetchone()[0]) == 12


def test_looking_again_notices_marks_without_a_write(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=False)
    with opened(path) as db:
        assert db.look_again().writable
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as conn:
            become_single_writer(conn)
        assert db.look_again().home.writer == "gateway"
        with pytest.raises(StateReadOnlyError):
            db.require_writable()


def test_what_newer_versions_keep_is_read_right(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=True)
    with opened(path) as db:
        lines = {line.id: line for line in db.list_summaries()}
        assert "s_hid" not in lines
        assert "s_arch" not in lines
        assert lines["s_tip"].preview == "go on"
        assert (db.get_session("s_cli") or {})["system_prompt"] == PROMPT
        assert (db.get_session("s_unread") or {})["last_read_at"] == 0
        assert [each.content for each in db.read_messages("s_tip")] == ["go on"]
        said = [each["content"] for each in db.get_messages_as_conversation("s_tip")]
        assert said == ["[a summary]", "go on"]  # the model is told it all the same
        assert db.search_messages("summary") == []
        assert [each["session_id"] for each in db.search_messages("zebra")] == ["s_cli"]
        assert [each["session_id"] for each in db.search_messages("quagga")] == ["s_sub"]
        assert [each["session_id"] for each in db.search_messages("giraffe")] == ["s_cli"]


@pytest.mark.parametrize("check", ["quick", "full"])
def test_a_sound_index_over_views_is_complete(tmp_path: Path, check: str) -> None:
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=False)
    report = health_report(path, check=check)  # type: ignore[arg-type]
    assert [index.missing for index in report.indexes] == [0, 0]
    assert all(index.is_complete for index in report.indexes)
    assert report.is_healthy

    words = "coalesce(content, ''), coalesce(tool_name, '')"
    change(
        path,
        "INSERT INTO messages_fts_trigram (messages_fts_trigram, rowid, content, tool_name) "
        f"SELECT 'delete', id, {words} FROM messages WHERE content = 'hello zebra'",
    )
    assert [index.missing for index in health_report(path).indexes] == [0, 1]


def test_a_session_that_something_unknown_refers_to_is_not_a_bug(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=False)
    change(
        path,
        "CREATE TABLE claims (id TEXT REFERENCES sessions(id) ON DELETE RESTRICT)",
        "INSERT INTO claims VALUES ('s_cli')",
    )
    with opened(path) as db, pytest.raises(RefusedError, match="belongs to Hermes' gateway"):
        db.delete_sessions(["s_cli"])


def test_a_snapshot_is_taken_and_not_put_back(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=True, journal=journal)
    before = bytes_of(path)
    taken = take_snapshot(path, tmp_path / "snapshots", reason="test", now=NOW)
    with pytest.raises(StateReadOnlyError):
        restore_snapshot(taken, path, tmp_path / "snapshots", now=NOW)
    assert bytes_of(path) == before


def test_the_watcher_follows_both_kinds_of_journal(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "state.db"
    make_newest_file(path, single_writer=True, journal=journal)
    watcher = ChangeWatcher(path)
    try:
        watcher.look()
        change(path, "UPDATE sessions SET title = 'Changed' WHERE id = 's_cli'")
        assert watcher.look().touched == {"s_cli"}
        assert not watcher.look()
    finally:
        watcher.close()
    with contextlib.closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA journal_mode").fetchone()[0] == journal


# ---------------------------------------------------------------------------- the control socket


def test_a_gateway_of_the_new_kind_is_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    SessionDB(path).close()
    with answering_socket(tmp_path, NEW_GATEWAY), opened(path) as db:
        assert db.condition.home.writer == "gateway"
        with pytest.raises(StateReadOnlyError):
            db.create_session("s", "cli")
        assert db.list_summaries() == []
    with opened(path) as db:
        db.create_session("s", "cli")


def test_it_makes_no_file_beside_such_a_gateway(tmp_path: Path) -> None:
    raises = pytest.raises(StateUnavailableError, match="belongs to Hermes' gateway")
    with answering_socket(tmp_path, NEW_GATEWAY), raises:
        SessionDB(tmp_path / "state.db")
    assert not (tmp_path / "state.db").exists()


def test_a_gateway_of_the_old_kind_shares_the_file(tmp_path: Path) -> None:
    with answering_socket(tmp_path, OLD_GATEWAY):
        assert kind_of_home(tmp_path / "state.db").writer == "shared"


@pytest.mark.parametrize(
    "answer", [b"hello\n", b"{}\n", b'{"ok": false}\n', b"", b'{"ok": true, "result": 1}\n']
)
def test_an_answer_that_is_not_understood_means_reading_only(tmp_path: Path, answer: bytes) -> None:
    path = tmp_path / "state.db"
    SessionDB(path).close()
    with answering_socket(tmp_path, answer), opened(path) as db:
        assert db.condition.home.writer == "unsure"
        with pytest.raises(StateReadOnlyError, match="cannot tell"):
            db.create_session("s", "cli")


def test_a_gateway_that_says_nothing_means_reading_only(tmp_path: Path) -> None:
    with answering_socket(tmp_path, None):
        assert kind_of_home(tmp_path / "state.db").writer == "unsure"


def test_a_socket_that_nothing_listens_on_is_no_mark(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "gateway.sock"))
    left.close()
    assert kind_of_home(tmp_path / "state.db").writer == "shared"


def test_a_socket_elsewhere_is_found_by_the_file_that_names_it(tmp_path: Path) -> None:
    place = tmp_path / "s"
    home = tmp_path / "home"
    home.mkdir()
    (home / "gateway.sock.path").write_text(f"{place}\n", encoding="utf-8")
    with answering_socket(home, NEW_GATEWAY, path=place):
        assert kind_of_home(home / "state.db").writer == "gateway"
    other = {**NEW_GATEWAY, "hermes_home": str(tmp_path / "original")}
    with answering_socket(home, other, path=place):  # a copied home names another one's socket
        assert kind_of_home(home / "state.db").writer == "shared"


def test_a_profile_that_the_default_gateway_serves(tmp_path: Path) -> None:
    home = tmp_path / "profiles" / "work"
    home.mkdir(parents=True)
    serving = {**NEW_GATEWAY, "hermes_home": str(tmp_path), "served_profiles": []}
    with answering_socket(tmp_path, serving):
        assert kind_of_home(home / "state.db").writer == "shared"
    serving["served_profiles"] = [{"home": str(home), "profile_id": "work"}]
    with answering_socket(tmp_path, serving):
        assert kind_of_home(home / "state.db").writer == "gateway"


def test_a_gateway_that_comes_while_the_file_is_open(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with opened(path) as db:
        db.create_session("s", "cli")
        with answering_socket(tmp_path, NEW_GATEWAY):
            assert db.look_again().home.writer == "gateway"
            with pytest.raises(StateReadOnlyError):
                db.append_message("s", "user", "hello")
        assert db.look_again().writable
        db.append_message("s", "user", "hello")


def test_looks_are_not_taken_more_often_than_needed(tmp_path: Path) -> None:
    now = [0.0]
    look = HomeMarkReader(tmp_path / "state.db", monotonic=lambda: now[0])
    assert look.marks().answer == "none"
    with answering_socket(tmp_path, NEW_GATEWAY):
        assert look.marks().answer == "none"
        now[0] += 1.0
        assert look.marks().answer == "newer"


# ------------------------------------------------------------------------------ another database


@pytest.mark.parametrize(
    "text",
    [
        "database:\n  backend: postgres\n",
        "model:\n  default: m\ndatabase: {backend: PostgreSQL}\n",
        '{"database": {"backend": "postgres"}}\n',
    ],
)
def test_conversations_kept_elsewhere(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.db"
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(StateUnavailableError, match="kept in PostgreSQL"):
        SessionDB(path)
    assert not path.exists()
    make_newest_file(path, single_writer=False)
    with opened(path) as db, pytest.raises(StateReadOnlyError, match="kept in PostgreSQL"):
        db.create_session("s", "cli")


@pytest.mark.parametrize(
    "text",
    [
        "database:\n  backend: sqlite\n  journal_mode: delete\n",
        "database:\n  journal_mode: wal\n",
        "database:\n",
        "database: yes\n",
        "tools:\n  database:\n    backend: postgres\n",
        "# database: {backend: postgres}\nmodel: m\n",
        "model: [broken\n",
    ],
)
def test_settings_that_mean_the_usual_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    assert kind_of_home(tmp_path / "state.db").may_write


def test_a_section_that_cannot_be_read_means_reading_only(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("database:\n  backend: [\n", encoding="utf-8")
    assert kind_of_home(tmp_path / "state.db").writer == "unsure"


def test_settings_that_change_while_the_file_is_open(tmp_path: Path) -> None:
    with opened(tmp_path / "state.db") as db:
        db.create_session("s", "cli")
        (tmp_path / "config.yaml").write_text("database:\n  backend: postgres\n", encoding="utf-8")
        assert db.look_again().home.writer == "elsewhere"
        (tmp_path / "config.yaml").unlink()
        assert db.look_again().writable
