"""Looking into a store without changing it, whatever state its files are in."""

import contextlib
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_desktop.core.errors import BusyError, StateUnavailableError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.store_opening import open_undisturbed
from hermes_desktop.state.maintenance.health import health_report
from tests.fakes.home_tree import tree_of


def store_in(folder: Path) -> Path:
    path = folder / "state.db"
    database = SessionDB(path)
    database.create_session("s1", "cli")
    database.append_message("s1", "user", "Hello")
    database.close()
    return path


def messages(path: Path) -> int:
    with contextlib.closing(open_undisturbed(path).conn) as conn:
        return int(conn.execute("SELECT count(*) FROM messages").fetchone()[0])


def kill_a_writer(path: Path) -> None:
    """Leave a log and its index behind, as a killed program does."""
    script = (
        "import os, sys, pathlib\n"
        "from hermes_desktop.state import SessionDB\n"
        "db = SessionDB(pathlib.Path(sys.argv[1]))\n"
        "db.append_message('s1', 'assistant', 'Hi')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return store_in(folder)


def test_a_closed_store(path: Path) -> None:
    before = tree_of(path.parent)

    assert messages(path) == 1
    assert health_report(path, opening=open_undisturbed).is_healthy
    assert tree_of(path.parent) == before


@pytest.mark.two_processes
def test_the_log_of_a_killed_program_is_read_and_left(path: Path) -> None:
    kill_a_writer(path)
    before = tree_of(path.parent)

    assert messages(path) == 2
    assert tree_of(path.parent) == before


@pytest.mark.two_processes
def test_a_log_without_its_index_is_left_alone(path: Path) -> None:
    kill_a_writer(path)
    Path(f"{path}-shm").unlink()
    before = tree_of(path.parent)

    with pytest.raises(StateUnavailableError, match="without an index"):
        open_undisturbed(path)

    assert tree_of(path.parent) == before


def messages_seen_by_another_process(path: Path) -> int:
    """Connections of one process share the log's index; those of two do not."""
    script = (
        "import sys, pathlib\n"
        "from hermes_desktop.state.database.store_opening import open_undisturbed\n"
        "conn = open_undisturbed(pathlib.Path(sys.argv[1])).conn\n"
        "print(conn.execute('SELECT count(*) FROM messages').fetchone()[0])\n"
        "conn.close()\n"
    )
    words = [sys.executable, "-c", script, str(path)]
    return int(subprocess.run(words, capture_output=True, timeout=60, check=True).stdout)


@pytest.mark.two_processes
def test_an_open_store(path: Path) -> None:
    with contextlib.closing(SessionDB(path)) as database:
        database.append_message("s1", "assistant", "Hi")
        before = tree_of(path.parent)

        assert messages_seen_by_another_process(path) == 2

        assert tree_of(path.parent) == before
        database.append_message("s1", "user", "Still writable")


def test_a_writer_with_another_journal_is_not_held_up(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=DELETE")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE sessions SET title = 'x'")
        assert Path(f"{path}-journal").exists()

        with pytest.raises(BusyError):
            open_undisturbed(path)

        writer.execute("COMMIT")


def test_nothing_is_created(tmp_path: Path) -> None:
    with pytest.raises(StateUnavailableError):
        open_undisturbed(tmp_path / "state.db")

    assert list(tmp_path.iterdir()) == []
