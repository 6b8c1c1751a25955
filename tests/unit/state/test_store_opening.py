"""What happens with files that are missing, foreign, damaged or not ours to open."""

import contextlib
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import (
    BusyError,
    HermesError,
    StateReadOnlyError,
    StateUnavailableError,
)
from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.connection import Patience
from hermes_desktop.state.records.sqlite_errors import to_hermes_error
from tests.fakes import state_files

IMPATIENT = Patience(attempts=2, wait_s=0.01, pause_s=(0.0, 0.001))
NOBODY = 65_534


def refused(path: Path, *, read_only: bool = False) -> HermesError:
    with pytest.raises(HermesError) as caught:
        SessionDB(path, read_only, patience=IMPATIENT)
    error = caught.value
    assert error.title.endswith(".")
    assert str(path) in error.detail
    assert error.hint
    return error


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A folder, worked on without the rights of root: root ignores modes."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-state-"))
    try:
        folder.chmod(0o777)
        with contextlib.ExitStack() as stack:
            if os.geteuid() == 0:
                os.seteuid(NOBODY)
                stack.callback(os.seteuid, 0)
            yield folder
    finally:
        for name in folder.rglob("*"):
            if name.is_dir():
                name.chmod(0o700)
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "content",
    [b"not a database at all, only some text that is long enough" * 30, b"short", b"\x00" * 4096],
    ids=["text", "short", "zeros"],
)
def test_something_else_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    assert isinstance(refused(path), StateUnavailableError)
    assert path.read_bytes() == content
    assert sorted(p.name for p in tmp_path.iterdir()) == ["state.db"]


def test_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = sqlite3.connect(path)
    conn.execute("CREATE TABLE bookmarks (url TEXT)")
    conn.commit()
    conn.close()
    before = path.read_bytes()
    assert "does not contain the tables of Hermes" in refused(path).detail
    assert path.read_bytes() == before


def test_empty_database_that_another_program_marked_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA application_id = 42")
    conn.execute("PRAGMA user_version = 1")
    conn.close()
    before = path.read_bytes()
    refused(path)
    assert path.read_bytes() == before


def test_damaged_schema_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    SessionDB(path).close()
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996
    path.write_bytes(content)
    error = refused(path)
    assert isinstance(error, StateUnavailableError)
    assert "damaged" in error.title
    assert "repair" in error.hint
    assert path.read_bytes() == bytes(content)


def test_damage_found_while_reading_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store = SessionDB(path)
    store.create_session("a", "cli")
    for number in range(400):
        store.append_message("a", "user", f"text {number} " + "x" * 200)
    store.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096 * 40)
        file.write(b"\xaa" * (size - 4096 * 40))
    with contextlib.closing(SessionDB(path)) as store, pytest.raises(StateUnavailableError) as e:
        store.get_messages("a")
    assert "damaged" in e.value.title


def test_folder_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.mkdir()
    assert "folder" in refused(path).detail


def test_path_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file" / "state.db")
    assert (tmp_path / "file").read_text() == "x"


def test_name_with_a_nul() -> None:
    with pytest.raises(StateUnavailableError):
        SessionDB("/tmp/a\x00b/state.db")


def test_read_only_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "home" / "state.db"
    refused(path, read_only=True)
    assert not path.parent.exists()


def test_read_only_leaves_an_empty_file_empty(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch()
    refused(path, read_only=True)
    assert path.stat().st_size == 0


def test_read_only_store_reads_and_refuses_to_write(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with contextlib.closing(SessionDB(path)) as store:
        store.create_session("a", "cli")
    with contextlib.closing(SessionDB(path, read_only=True)) as store:
        assert store.get_session("a") is not None
        assert not store.condition.writable
        with pytest.raises(StateReadOnlyError) as caught:
            store.create_session("b", "cli")
    assert caught.value.detail == store.condition.reason
    assert caught.value.hint


@pytest.mark.parametrize("name", ["a?b", "a#b", "a%41b", "ü ñ", "a'b\"c", "x&mode=memory"])
def test_any_character_may_stand_in_the_path(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "state.db"
    with contextlib.closing(SessionDB(path)) as store:
        store.create_session("a", "cli")
    assert path.stat().st_size > 0
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_locked_file_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    SessionDB(path).close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert isinstance(refused(path), BusyError)
    finally:
        holder.close()


def test_file_without_version_row_is_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, 22)
    conn.execute("DELETE FROM schema_version")
    conn.close()
    with contextlib.closing(SessionDB(path)) as store:
        assert not store.condition.writable
        assert store.condition.schema_version is None


def test_current_version_with_missing_parts_is_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_old_file(path, 22)
    conn.execute("DROP TRIGGER messages_fts_delete")
    conn.execute("ALTER TABLE sessions DROP COLUMN profile_name")
    conn.close()
    before = state_files.dump(path)
    with contextlib.closing(SessionDB(path)) as store:
        assert "messages_fts_delete" in store.condition.reason
        assert "sessions.profile_name" in store.condition.reason
        assert store.list_summaries() == []
    assert state_files.dump(path) == before


def test_rollback_journal_is_not_switched(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    SessionDB(path).close()
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA journal_mode=DELETE")
    conn.close()
    with contextlib.closing(SessionDB(path)) as store:
        store.create_session("a", "cli")
        mode = store.read(lambda conn: conn.execute("PRAGMA journal_mode").fetchone()[0])
    assert mode == "delete"


def test_file_that_may_not_be_read(ordinary_user: Path) -> None:
    path = ordinary_user / "state.db"
    SessionDB(path).close()
    path.chmod(0)
    refused(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0


def test_folder_that_may_not_be_written(ordinary_user: Path) -> None:
    home = ordinary_user / "home"
    home.mkdir()
    home.chmod(0o500)
    refused(home / "state.db")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("with_log", [False, True], ids=["alone", "with a log"])
def test_home_that_may_not_be_written_can_be_read(ordinary_user: Path, *, with_log: bool) -> None:
    home = ordinary_user / "home"
    path = home / "state.db"
    other = SessionDB(path)
    other.create_session("a", "cli")
    other.append_message("a", "user", "hello")
    if not with_log:
        other.close()
    home.chmod(0o500)
    path.chmod(0o400)
    try:
        with contextlib.closing(SessionDB(path, patience=IMPATIENT)) as store:
            assert [m.content for m in store.read_messages("a")] == ["hello"]
            assert not store.condition.writable
            with pytest.raises(StateReadOnlyError):
                store.append_message("a", "user", "no")
    finally:
        home.chmod(0o700)
        other.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
@pytest.mark.parametrize("read_only", [True, False])
def test_a_pipe_is_not_waited_for(path: Path, *, read_only: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    assert "pipe" in refused(path, read_only=read_only).detail


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is the disk without room")
def test_a_disk_without_room_for_the_index_of_the_log_is_called_full(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    assert to_hermes_error(error, Path("/proc/state.db")).title == "The disk is full."
    assert "full" not in to_hermes_error(error, tmp_path / "state.db").title


def without_marks(path: Path, version: int | None = None) -> None:
    """A file whose column ``active`` was added without a rule, and one message without a mark."""
    with contextlib.closing(SessionDB(path)) as db:
        db.create_session("a", "cli")
        for text in ("one", "two"):
            db.append_message("a", "user", text)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as conn:
        if version is not None:
            conn.execute("UPDATE schema_version SET version = ?", (version,))
        conn.execute("PRAGMA writable_schema = ON")
        sql, rule = "active INTEGER", " NOT NULL DEFAULT 1"
        changed = conn.execute(
            "UPDATE sqlite_master SET sql = replace(replace(sql, ?, ?), ?, ?) "
            "WHERE name = 'messages'",
            (sql + rule, sql, f'"active" INTEGER{rule}', '"active" INTEGER'),
        )
        assert changed.rowcount == 1
        conn.execute("PRAGMA writable_schema = RESET")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("UPDATE messages SET active = NULL WHERE content = 'one'")


def marks(path: Path) -> list[int | None]:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return [row[0] for row in conn.execute("SELECT active FROM messages ORDER BY id")]


@pytest.mark.parametrize("version", [None, 19])
def test_messages_without_a_mark_are_shown_again(path: Path, version: int | None) -> None:
    without_marks(path, version)
    with contextlib.closing(SessionDB(path, read_only=True)):
        assert marks(path) == [None, 1]
    with contextlib.closing(SessionDB(path)) as db:
        assert [each["content"] for each in db.get_messages("a")] == ["one", "two"]
    assert marks(path) == [1, 1]


def test_messages_of_a_newer_file_are_left_as_they_are(path: Path) -> None:
    without_marks(path, 27)
    with contextlib.closing(SessionDB(path)) as db:
        db.create_session("b", "cli")
    assert marks(path) == [None, 1]


def test_a_file_that_is_locked_opens_and_is_mended_the_next_time(path: Path) -> None:
    without_marks(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with contextlib.closing(SessionDB(path, patience=IMPATIENT)) as db:
            assert db.get_session("a") is not None
        other.execute("ROLLBACK")
    with contextlib.closing(SessionDB(path)):
        assert marks(path) == [1, 1]
