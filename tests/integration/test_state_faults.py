"""What happens to the store when something goes wrong: nothing that was stored is lost, and the
person is told in words what it is."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import (
    BusyError,
    StateError,
    StateReadOnlyError,
    StateUnavailableError,
)
from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.connection import Patience
from hermes_desktop.state.maintenance.health import health_report
from hermes_desktop.state.maintenance.snapshot import list_snapshots, take_snapshot
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import list_trash, trash_sessions

IMPATIENT = Patience(attempts=2, wait_s=0.01, pause_s=(0.0, 0.001))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state.db"


@pytest.fixture
def db(path: Path) -> Iterator[SessionDB]:
    with contextlib.closing(SessionDB(path, patience=IMPATIENT)) as store:
        store.create_session("a", "cli")
        store.append_message("a", "user", "first")
        yield store


def stored(path: Path) -> list[str]:
    """What a program that comes later finds; the file must be sound."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return [row[0] for row in conn.execute("SELECT content FROM messages ORDER BY id")]


@pytest.mark.slow
@pytest.mark.two_processes
def test_killed_at_any_moment(killed: Callable[[str, int], None]) -> None:
    """100 rounds of random changes, each ended by SIGKILL; the program checks after each."""
    killed("killed_writers.py", 100)


@pytest.mark.slow
@pytest.mark.two_processes
def test_killed_while_a_long_session_is_on_its_way(killed: Callable[[str, int], None]) -> None:
    """20 rounds; before, in or after any of the transactions."""
    killed("killed_long_work.py", 20)


# ------------------------------------------------------------------------------------- no room


def until_it_fails(db: SessionDB) -> tuple[list[str], StateError]:
    said = ["first"]
    for number in range(20_000):
        text = f"{number} " + os.urandom(400).hex()
        try:
            db.append_message("a", "user", text)
        except StateError as error:
            return said, error
        said.append(text)
    raise AssertionError("it never became full")


def test_the_file_may_not_grow(db: SessionDB, path: Path) -> None:
    pages = db._conn.execute("PRAGMA page_count").fetchone()[0]
    db._conn.execute(f"PRAGMA max_page_count = {pages + 20}")
    said, error = until_it_fails(db)
    assert error.title == "The disk is full."
    assert error.hint
    assert stored(path) == said
    db._conn.execute("PRAGMA max_page_count = 1000000")
    db.append_message("a", "user", "later")
    assert stored(path) == [*said, "later"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may make a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    path = small_disk / "state.db"
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 1_000_000)
    with contextlib.closing(SessionDB(path)) as db:
        db.create_session("a", "cli")
        db.append_message("a", "user", "first")
        said, error = until_it_fails(db)
        assert "disk" in error.title
        assert [row["content"] for row in db.get_messages("a")] == said
        with pytest.raises(StateError) as no_room:
            take_snapshot(path, small_disk / "snapshots", reason="test", now=1.0)
        assert no_room.value.title == "There is not enough space for a snapshot."
        own = DesktopDatabase(small_disk / "desktop" / "desktop.db")
        with pytest.raises(Exception, match="not enough space for a copy in the trash"):
            trash_sessions(db, own, ["a"], deleted_at=1.0, reason="test")
        assert list_trash(own) == ()
        filler.unlink()
        db.append_message("a", "user", "later")
        own.close()
    assert stored(path) == [*said, "later"]
    assert list_snapshots(small_disk / "snapshots") == ()


def fill(filler: Path) -> None:
    """Take the last byte of the disk."""
    with filler.open("ab", buffering=0) as file:
        for size in (65_536, 4_096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)


def test_the_history_on_a_full_disk_can_be_read(small_disk: Path) -> None:
    path = small_disk / "state.db"
    with contextlib.closing(SessionDB(path)) as db:
        db.create_session("a", "cli")
        db.set_session_title("a", "Walrus")
        db.append_message("a", "user", "the first question")
    fill(small_disk / "filler")
    for words, expected in (
        (("list",), "Walrus"),
        (("show", "a"), "the first question"),
        (("search", "question"), "first"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "hermes_desktop", "sessions", *words],
            env={**os.environ, "HERMES_HOME": str(small_disk)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert expected in done.stdout, done.stderr
    with contextlib.closing(SessionDB(path)) as db:
        assert "full" in db.condition.reason
        assert [row["content"] for row in db.get_messages("a")] == ["the first question"]
        with pytest.raises(StateReadOnlyError) as caught:
            db.append_message("a", "user", "no room")
        assert "full" in caught.value.detail
        (small_disk / "filler").unlink()
        db.append_message("a", "user", "later")
    assert stored(path) == ["the first question", "later"]


_KILLED = """
import os, sys
from hermes_desktop.state import SessionDB
db = SessionDB(sys.argv[1])
db.create_session("a", "cli")
db.append_message("a", "user", "in the log")
os._exit(1)
"""


def test_what_is_in_the_log_on_a_full_disk_is_not_left_out(small_disk: Path) -> None:
    path = small_disk / "state.db"
    subprocess.run([sys.executable, "-c", _KILLED, path], check=False)
    small_disk.joinpath("state.db-shm").unlink()  # as after a restart of the machine
    fill(small_disk / "filler")
    with pytest.raises(StateError) as caught:
        SessionDB(path)
    assert caught.value.title == "The disk is full."
    assert "state.db-wal" in caught.value.detail
    (small_disk / "filler").unlink()
    assert stored(path) == ["in the log"]


def test_the_disk_fills_while_the_copy_for_the_trash_is_made(
    db: SessionDB, path: Path, tmp_path: Path
) -> None:
    own = DesktopDatabase(tmp_path / "desktop.db")
    own.write(lambda conn: conn.execute("PRAGMA max_page_count = 30"))
    db.replace_messages("a", [{"role": "user", "content": "x" * 3_000} for _ in range(100)])
    with pytest.raises(StateError) as caught:
        trash_sessions(db, own, ["a"], deleted_at=1.0, reason="test")
    own.close()
    assert caught.value.title == "The disk is full."
    assert len(stored(path)) == 100


# -------------------------------------------------------------------------- the file is changed


def test_another_file_in_its_place(db: SessionDB, path: Path, tmp_path: Path) -> None:
    """As a restore by another program does it: the file is made anew, its old log stays."""
    other = tmp_path / "other" / "state.db"
    with contextlib.closing(SessionDB(other)) as made:
        made.create_session("a", "cli")
        made.append_message("a", "user", "restored")
    path.unlink()
    shutil.move(other, path)
    assert [row["content"] for row in db.get_messages("a")] == ["restored"]
    db.append_message("a", "user", "after")
    assert stored(path) == ["restored", "after"]


def test_the_log_is_deleted(db: SessionDB, path: Path) -> None:
    Path(f"{path}-wal").unlink()
    db.append_message("a", "user", "second")
    assert [row["content"] for row in db.get_messages("a")] == ["first", "second"]
    assert stored(path) == ["first", "second"]


def test_the_file_vanishes(db: SessionDB, path: Path) -> None:
    path.unlink()
    with pytest.raises(StateUnavailableError) as caught:
        db.append_message("a", "user", "second")
    assert "missing" in caught.value.title
    assert not path.exists()


def test_locked_for_longer_than_anybody_waits(db: SessionDB, path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BusyError) as caught:
            db.append_message("a", "user", "second")
        assert [row["content"] for row in db.get_messages("a")] == ["first"]
        other.execute("ROLLBACK")
    assert caught.value.exit_code == 6
    db.append_message("a", "user", "second")
    assert stored(path) == ["first", "second"]


# ------------------------------------------------------------------------------------ the index


def drop_trigger(conn: sqlite3.Connection) -> None:
    conn.execute("DROP TRIGGER messages_fts_insert")


def drop_row(conn: sqlite3.Connection) -> None:
    conn.execute("DELETE FROM messages_fts WHERE rowid = 1")


@pytest.mark.parametrize(
    ("harm", "kind"), [(drop_trigger, "trigger-missing"), (drop_row, "index-incomplete")]
)
def test_an_index_that_lacks_something(
    db: SessionDB, path: Path, harm: Callable[[sqlite3.Connection], None], kind: str
) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        harm(other)
        other.commit()
    with contextlib.suppress(StateError):
        db.append_message("a", "user", "second")
    report = health_report(path)
    assert kind in {finding.kind for finding in report.findings}
    assert not report.is_healthy
    assert stored(path)[0] == "first"


def test_a_damaged_index_stops_writing_with_words(db: SessionDB, path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE messages_fts_data SET block = x'ffffffffff' WHERE id = 10")
        other.commit()
    with pytest.raises(StateUnavailableError) as caught:
        db.append_message("a", "user", "second")
    assert "search index" in caught.value.title or "damaged" in caught.value.title
    assert stored(path) == ["first"]
    assert [row["content"] for row in db.get_messages("a")] == ["first"]
