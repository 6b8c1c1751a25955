"""Two programs that shorten one conversation, and one that is killed while it does."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance.health import health_report
from tests.fakes.model_server import ModelServer, Recorded, Reply
from tests.fakes.narrow_model import NarrowModel

SID = "20260304_120000_abcdef"
_PROGRAM = Path(__file__).parent / "compressing_programs.py"
_ROOT = Path(__file__).parents[2]


def filled(path: Path, words: int = 60) -> SessionDB:
    db = SessionDB(path)
    db.create_session(SID, "desktop", model="narrow", system_prompt="You help.")
    for number in range(120):
        role = ("user", "assistant")[number % 2]
        db.append_message(SID, role, f"number {number} " + "word " * words)
    return db


def start(path: Path, base_url: str, mode: str) -> "subprocess.Popen[str]":
    program = subprocess.Popen(
        [sys.executable, _PROGRAM, path, base_url, mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    return program


def go(program: "subprocess.Popen[str]") -> "subprocess.Popen[str]":
    assert program.stdin is not None
    program.stdin.write("go\n")
    program.stdin.flush()
    return program


def result_of(program: "subprocess.Popen[str]") -> Any:
    said, _ = program.communicate(timeout=60)
    assert program.returncode == 0
    return json.loads(said)


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.parametrize("mode", ["rotate", "in_place"])
def test_one_wins_and_none_forks(tmp_path: Path, mode: str) -> None:
    db = filled(tmp_path / "state.db")
    with NarrowModel().serve() as server:
        programs = [start(db.db_path, server.base_url, mode) for _ in range(3)]
        for program in programs:
            go(program)
        results = [result_of(program) for program in programs]
    kinds = [kind for kind, *_ in results]
    assert kinds.count("done") >= 1
    assert set(kinds) <= {"done", "busy", "followed", "nothing"}
    lineage = db.get_compression_lineage(SID)
    if mode == "rotate":
        assert len(lineage) == 2
        assert kinds.count("done") == 1
        assert {sid for kind, sid, _ in results if kind != "busy"} == {lineage[1]}
    else:
        assert lineage == [SID]
    children = db.read(
        lambda conn: conn.execute(
            "SELECT count(*) FROM sessions WHERE parent_session_id = ?", (SID,)
        )
    ).fetchone()[0]
    assert children == (mode == "rotate")
    assert len(db.list_sessions_rich()) == 1
    assert db.get_compression_lock_holder(SID) is None
    db.close()
    assert health_report(tmp_path / "state.db").is_healthy


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.parametrize("mode", ["rotate", "in_place"])
def test_killed_while_the_summary_is_written_nothing_is_lost_and_it_can_be_done_at_once(
    tmp_path: Path, mode: str
) -> None:
    db = filled(tmp_path / "state.db")
    asked = threading.Event()

    def hangs(_: Recorded) -> Reply:
        asked.set()
        return Reply(before_head=("hang",))

    with ModelServer(responder=hangs) as server:
        program = start(db.db_path, server.base_url, mode)
        go(program)
        assert asked.wait(60)
        assert db.get_compression_lock_holder(SID) is not None
        other = result_of(go(start(db.db_path, server.base_url, mode)))
        assert other[0] == "busy"
        assert f"Another program (process {program.pid}) has been doing this for" in other[2]
        assert "If it was killed, the wait ends after 5 minutes at most." in other[2]
        program.send_signal(signal.SIGKILL)
        program.communicate(timeout=60)
    assert db.get_compression_lock_holder(SID) is None
    assert db.resolve_resume_session_id(SID) == SID
    assert len(db.get_messages(SID)) == 120
    row = db.get_session(SID)
    assert row is not None
    assert row["end_reason"] is None
    db.append_message(SID, "user", "and on")
    with NarrowModel().serve() as server:
        done = result_of(go(start(db.db_path, server.base_url, mode)))
    assert done[0] == "done"
    assert db.get_messages(done[1])[-1]["content"] == "and on"
    db.close()
    assert health_report(tmp_path / "state.db").is_healthy
