"""A conversation made shorter, in its row or in a new one, as one transaction."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hermes_desktop
from hermes_desktop.core.errors import BusyError, RefusedError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.compaction import Compaction
from hermes_desktop.state.maintenance.health import health_report
from hermes_desktop.state.records.sqlite_errors import MissingSessionError

SHORT = [{"role": "user", "content": "first"}, {"role": "assistant", "content": "summary"}]
US = "pid=1:tid=1:agent=a:nonce=00000000"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB(tmp_path / "state.db")
    yield store
    store.close()


def filled(db: SessionDB, count: int = 30) -> Compaction:
    """A session with a title, a chat, a goal and messages; what it is to become."""
    config = {"_branched_from": "older", "temperature": 1}
    fields = {"session_key": "k", "chat_id": "c", "chat_type": "dm", "user_id": "u", "cwd": "/w"}
    db.create_session(
        "old", "telegram", model="m", model_config=config, system_prompt="You", **fields
    )
    db.record_gateway_session_peer(
        "old", source="telegram", session_key="k", display_name="Ann", origin_json='{"a":1}'
    )
    db.set_session_title("old", "Trip")
    db._execute_write(lambda conn: conn.execute("INSERT INTO state_meta VALUES ('goal:old', '{}')"))
    for number in range(count):
        role = ("user", "assistant")[number % 2]
        db.append_message("old", role, f"text {number}")
    assert db.try_acquire_compression_lock("old", US)
    newest = db.get_messages("old")[-1]["id"]
    return Compaction("old", US, SHORT, newest, count)


def texts(db: SessionDB, session_id: str) -> list[Any]:
    return [each["content"] for each in db.get_messages(session_id)]


def test_in_place_sets_aside_and_counts_what_is_left(db: SessionDB) -> None:
    wanted = filled(db)
    assert db.compact_in_place(wanted) == 0
    assert texts(db, "old") == ["first", "summary"]
    row = db.get_session("old")
    assert row is not None
    assert (row["message_count"], row["end_reason"]) == (2, None)
    assert len(db.get_messages("old", include_inactive=True)) == 32
    assert health_report(db.db_path).is_healthy


def test_what_others_add_meanwhile_goes_along(db: SessionDB) -> None:
    wanted = filled(db)
    db.append_message("old", "user", "meanwhile", platform_message_id="p1")
    assert db.compact_in_place(wanted) == 1
    assert texts(db, "old") == ["first", "summary", "meanwhile"]
    assert db.get_messages("old")[-1]["platform_message_id"] == "p1"


def test_a_rotation_takes_the_chat_the_goal_and_the_name_along(db: SessionDB) -> None:
    wanted = filled(db)
    db.append_message("old", "user", "meanwhile")
    db.rotate_session(wanted, "new")
    old, new = db.get_session("old"), db.get_session("new")
    assert old is not None
    assert new is not None
    assert old["end_reason"] == "compression"
    assert new["parent_session_id"] == "old"
    same = ("source", "session_key", "chat_id", "user_id", "display_name", "origin_json", "cwd")
    assert [new[name] for name in same] == [old[name] for name in same]
    assert (new["title"], new["system_prompt"]) == ("Trip #2", "You")
    assert new["model_config"] == '{"temperature": 1}'
    assert texts(db, "new") == ["first", "summary", "meanwhile"]
    assert db.get_compression_tip("old") == "new"
    assert db.resolve_resume_session_id("old") == "new"
    assert len(db.list_sessions_rich()) == 1
    goals = db.read(lambda conn: conn.execute("SELECT key FROM state_meta").fetchall())
    assert "goal:new" in {each[0] for each in goals}
    assert "goal:old" not in {each[0] for each in goals}
    found = db.find_latest_gateway_session_for_peer(source="telegram", session_key="k")
    assert found is not None
    assert found["id"] == "new"


@pytest.mark.parametrize("rotating", [False, True])
def test_nothing_happens_without_the_lock_or_after_a_change(
    db: SessionDB, *, rotating: bool
) -> None:
    wanted = filled(db)

    def shorten(how: Compaction) -> int:
        return db.rotate_session(how, "new") if rotating else db.compact_in_place(how)

    with pytest.raises(BusyError):
        shorten(replace(wanted, holder="pid=2"))
    with pytest.raises(MissingSessionError):
        shorten(replace(wanted, session_id="unknown"))
    db.rewind_to_message("old", db.get_messages("old")[-2]["id"])
    with pytest.raises(RefusedError):
        shorten(wanted)
    assert len(texts(db, "old")) == 28
    assert db.get_session("new") is None


def test_a_rotated_session_is_not_rotated_again(db: SessionDB) -> None:
    wanted = filled(db)
    db.rotate_session(wanted, "new")
    with pytest.raises(RefusedError):
        db.rotate_session(wanted, "newer")
    assert db.get_session("newer") is None


KILLED = """
import os, signal, sys
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.compaction import Compaction
path, step, newest = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
db = SessionDB(path)
wanted = Compaction("old", {us!r}, {short!r}, newest, 30)
seen = 0

def traced(statement):
    global seen
    seen += 1
    if seen == step:
        os.kill(os.getpid(), signal.SIGKILL)

db.try_acquire_compression_lock("old", {us!r})
db._conn.set_trace_callback(traced)
if sys.argv[4] == "rotate":
    db.rotate_session(wanted, "new")
else:
    db.compact_in_place(wanted)
print("done", seen)
"""


def killed_at(folder: Path, step: int, mode: str) -> tuple[int, str, list[Any]]:
    """Shorten in a process that is killed before this statement: its end, and what is told."""
    script, path = folder / "killed.py", folder / f"{step}.db"
    script.write_text(KILLED.format(us=US, short=SHORT))
    db = SessionDB(path)
    wanted = filled(db)
    db.close()
    ended = subprocess.run(
        [sys.executable, script, path, str(step), str(wanted.seen_up_to), mode],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(hermes_desktop.__file__).parents[1])},
    )
    db = SessionDB(path)
    told = texts(db, db.resolve_resume_session_id("old"))
    assert len(db.list_sessions_rich()) == 1
    db.close()
    assert health_report(path).is_healthy
    return ended.returncode, ended.stdout, told


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.parametrize("mode", ["rotate", "in_place"])
def test_killed_at_any_statement_the_conversation_is_whole(tmp_path: Path, mode: str) -> None:
    code, said, told = killed_at(tmp_path, 10**6, mode)
    assert (code, told) == (0, ["first", "summary"])
    last = int(said.split()[1])
    steps = sorted({*range(1, min(last, 8)), *range(8, last, last // 8), last - 1, last})
    for step in steps:
        code, said, told = killed_at(tmp_path, step, mode)
        assert code == -signal.SIGKILL, said
        assert told == [f"text {number}" for number in range(30)]


def test_what_fails_in_the_middle_takes_all_back(db: SessionDB) -> None:
    wanted = filled(db)
    broken = (
        "CREATE TRIGGER full BEFORE INSERT ON messages WHEN new.session_id = 'new' "
        "BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    db._execute_write(lambda conn: conn.execute(broken))
    with pytest.raises(sqlite3.IntegrityError):
        db.rotate_session(wanted, "new")
    db._execute_write(lambda conn: conn.execute("DROP TRIGGER full"))
    row = db.get_session("old")
    assert row is not None
    assert row["end_reason"] is None
    assert db.get_session("new") is None
    assert len(texts(db, "old")) == 30
