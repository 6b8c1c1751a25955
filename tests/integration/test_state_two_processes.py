"""Several processes on one state.db: nothing is lost, everything is noticed."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher
from hermes_desktop.state.records.records import StateChanges

pytestmark = pytest.mark.two_processes

_ROOT = Path(__file__).parents[2]
_PRELUDE = (
    "import sys, sqlite3\nfrom hermes_desktop.state import SessionDB\ndb = SessionDB(sys.argv[1])\n"
)

DELETE = """
def delete(conn):
    conn.execute("DELETE FROM messages WHERE session_id = 'b'")
    conn.execute("DELETE FROM sessions WHERE id = 'b'")
db._execute_write(delete)
"""


def start(code: str, path: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _PRELUDE + code, str(path), *words],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(code: str, path: Path, *words: str) -> None:
    process = start(code, path, *words)
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def db(path: Path) -> Iterator[SessionDB]:
    with contextlib.closing(SessionDB(path)) as store:
        for name in ("a", "b"):
            store.create_session(name, "cli")
            store.append_message(name, "user", "hello")
        yield store


def sound(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return bool(conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


def test_writers_lose_nothing(db: SessionDB, path: Path) -> None:
    code = "for n in range(100): db.append_message('a', 'assistant', f'{sys.argv[2]} {n}')\n"
    writers = [start(code, path, label) for label in ("one", "two", "three")]
    for number in range(100):
        db.append_message("a", "user", f"own {number}")
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    texts = [m["content"] for m in db.get_messages("a")]
    for label in ("one", "two", "three", "own"):
        assert [t for t in texts if t.startswith(label)] == [f"{label} {n}" for n in range(100)]
    assert (db.get_session("a") or {})["message_count"] == len(texts) == 401
    assert sound(path)


def test_processes_that_start_on_an_empty_home_make_one_file(path: Path) -> None:
    code = "db.create_session(sys.argv[2], 'cli')\n"
    starters = [start(code, path, str(number)) for number in range(4)]
    for starter in starters:
        starter.communicate(timeout=60)
        assert starter.returncode == 0
    with contextlib.closing(SessionDB(path)) as db:
        assert {row["id"] for row in db.search_sessions()} == {"0", "1", "2", "3"}
        assert db.condition.writable


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("db.append_message('b', 'user', 'x')", StateChanges(touched=frozenset("b"))),
        ("db.rewind_to_message('b', 2)", StateChanges(touched=frozenset("b"))),
        ("db.replace_messages('b', [{'role': 'user'}])", StateChanges(touched=frozenset("b"))),
        ("db.set_session_title('b', 'T')", StateChanges(touched=frozenset("b"))),
        ("db.end_session('b', 'cli_close')", StateChanges(touched=frozenset("b"))),
        ("db.create_session('c', 'cli')", StateChanges(touched=frozenset("c"))),
        (DELETE, StateChanges(removed=frozenset("b"))),
    ],
    ids=["append", "undo", "rewrite", "title", "end", "create", "delete"],
)
def test_the_watcher_and_the_mark_notice_another_process(
    db: SessionDB, path: Path, code: str, expected: StateChanges
) -> None:
    before = db.session_mark("b")
    with contextlib.closing(ChangeWatcher(path)) as watcher:
        watcher.look()
        run(code, path)
        assert watcher.look() == expected
        assert watcher.look() == StateChanges()
    counted = any(word in code for word in ("append", "rewind", "replace", "DELETE"))
    assert (db.session_mark("b") != before) is counted


def test_a_process_killed_inside_a_write_leaves_the_file_sound(db: SessionDB, path: Path) -> None:
    code = (
        "def hold(conn):\n"
        "    conn.execute(\"UPDATE sessions SET title = 'half' WHERE id = 'a'\")\n"
        '    conn.execute("DELETE FROM messages")\n'
        "    print('inside', flush=True)\n"
        "    sys.stdin.read()\n"
        "db._execute_write(hold)\n"
    )
    process = start(code, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    assert db.message_count() == 2  # readers do not wait for it
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert db.get_session_title("a") is None
    db.append_message("a", "user", "going on")
    assert db.message_count() == 3
    assert sound(path)


def test_a_process_that_ends_does_not_take_the_log_away(db: SessionDB, path: Path) -> None:
    """What is committed after another process closed must be there for a third one."""
    run("db.append_message('a', 'user', 'theirs'); db.close()", path)
    db.append_message("a", "user", "ours")
    run("assert db.message_count('a') == 3", path)
    assert Path(f"{path}-wal").exists()
    db.close()
    with contextlib.closing(SessionDB(path)) as again:
        assert [m.content for m in again.read_messages("a")] == ["hello", "theirs", "ours"]
