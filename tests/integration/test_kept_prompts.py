"""The system prompt of a session: the same bytes from every program of ours, killed or not.

It is looked at where it counts, in the requests that arrive, and in both files.
"""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.session_prompts import SessionPrompts
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from tests.fakes.clock import MovableClock
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.program import Program, rows
from tests.fakes.prompts import prompts_beside
from tests.fakes.rpc_client import RpcProcess
from tests.integration.killed_turns import SID, agent_on

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: ModelServer) -> Path:
    folder = tmp_path / "person" / "home"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(
        f"model: {{default: m, base_url: '{server.base_url}'}}\n"
        "auxiliary: {title_generation: {enabled: false}}\n",
        encoding="utf-8",
    )
    return folder


def system(request: Recorded) -> str:
    first = request.messages[0]
    assert first["role"] == "system"
    return str(first["content"])


def stored(path: Path) -> list[Any]:
    """What the rows of the shared file say."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return [row[0] for row in conn.execute("SELECT system_prompt FROM sessions").fetchall()]


def test_chat_and_front_ends_send_the_same(home: Path, server: ModelServer) -> None:
    program = Program(home)
    assert program.run("chat", "-q", "Hello").code == 0
    (row,) = rows(home)
    (home / "SOUL.md").write_text("Quite another.", encoding="utf-8")
    with RpcProcess(program) as front_end:
        sid = front_end.call("session.resume", session_id=row["id"], cols=80)["session_id"]
        front_end.call("prompt.submit", session_id=sid, text="And here?")
        front_end.event("message.complete", sid)
    assert program.run("chat", "--resume", row["id"], "-q", "And again?").code == 0
    first, second, third = server.requests
    assert system(first) == system(second) == system(third)
    assert third.messages[: len(first.messages)] == first.messages
    assert stored(home / "state.db") == [None]
    exported = program.run("sessions", "export", "-", "--session-id", row["id"])
    assert exported.code == 0
    assert "And again?" in exported.out
    assert system(first)[:60] not in exported.out


def test_a_session_begun_by_a_front_end_keeps_its_prompt(home: Path, server: ModelServer) -> None:
    program = Program(home)
    with RpcProcess(program) as front_end:
        sid = front_end.call("session.create", cols=80)["session_id"]
        for question in ("Hello", "And now?"):
            front_end.call("prompt.submit", session_id=sid, text=question)
            front_end.event("message.complete", sid)
    (row,) = rows(home)
    assert program.run("chat", "--resume", row["id"], "-q", "And again?").code == 0
    assert len({system(each) for each in server.requests}) == 1
    assert stored(home / "state.db") == [None]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB(tmp_path / "state.db")
    yield store
    store.close()


def fill(db: SessionDB) -> None:
    db.create_session(SID, "desktop", model="narrow")
    for number in range(90):
        role = ("user", "assistant")[number % 2]
        db.append_message(SID, role, f"number {number} " + "word " * 90)


def test_a_rotation_changes_nothing_of_it(db: SessionDB) -> None:
    fill(db)
    model = NarrowModel()
    with model.serve() as server:
        agent = agent_on(db, SID, server.base_url, in_place=False)
        ended = str(agent.run_conversation("And now?")["session_id"])
        agent.close()
        assert ended != SID
        again = agent_on(db, ended, server.base_url, in_place=False)
        assert again.run_conversation("And after a restart?")["completed"]
        again.close()
    prompts = {str(turn[0]["content"]) for turn in model.turns}
    assert prompts == {prompts_beside(db).sent(SID)} == {prompts_beside(db).sent(ended)}
    assert stored(db.db_path) == [None, None]
    # Each has it by itself: the first part may be deleted.
    db.delete_sessions([SID])
    assert {prompts_beside(db).sent(ended)} == prompts


KILLED = """
import os, signal, sys
from pathlib import Path
from hermes_desktop.state import SessionDB
from tests.integration.killed_turns import SID, agent_on

class Killed(SessionDB):
    def {method}(self, *arguments, **fields):
        os.kill(os.getpid(), signal.SIGKILL)

db = Killed(Path(sys.argv[1]))
agent_on(db, SID, sys.argv[2], in_place=False).run_conversation("Hello", "Be brief.")
"""


def killed(db: SessionDB, base_url: str, method: str) -> None:
    """Take a turn that is killed instead of calling this method of the store."""
    ended = subprocess.run(
        [sys.executable, "-c", KILLED.format(method=method), str(db.db_path), base_url],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def kept(db: SessionDB) -> dict[str, str]:
    own = DesktopDatabase(db.db_path.parent / "desktop" / "desktop.db")
    sql = "SELECT session_id, prompt FROM session_prompts"
    with contextlib.closing(own):
        return own.read(lambda out: dict(map(tuple, out.execute(sql).fetchall())), default={})


@pytest.mark.two_processes
def test_killed_between_the_two_files_when_it_begins(
    db: SessionDB, server: ModelServer, tmp_path: Path
) -> None:
    killed(db, server.base_url, "create_session")
    assert db.get_session(SID) is None
    prompt = kept(db)[SID]
    assert "Be brief." in prompt
    agent = agent_on(db, SID, server.base_url, in_place=False)
    assert agent.run_conversation("Hello")["completed"]
    agent.close()
    assert [system(each) for each in server.requests] == [prompt]
    # Where the session never came, the prompt goes.
    db.delete_sessions([SID])
    clock = MovableClock()
    clock.advance(365 * 86_400)
    with (
        contextlib.closing(SessionDB(db.db_path, clock=clock)) as later,
        contextlib.closing(DesktopDatabase(tmp_path / "desktop" / "desktop.db")) as own,
    ):
        assert SessionPrompts(later, own).forget_gone() == 1
    assert kept(db) == {}


@pytest.mark.two_processes
def test_killed_between_the_two_files_in_a_rotation(db: SessionDB) -> None:
    fill(db)
    model = NarrowModel()
    with model.serve() as server:
        killed(db, server.base_url, "rotate_session")
        row = db.get_session(SID)
        assert row is not None
        assert row["end_reason"] is None
        prompt = kept(db)[SID]
        assert "Be brief." in prompt
        assert set(kept(db).values()) == {prompt}
        assert len(kept(db)) == 2
        agent = agent_on(db, SID, server.base_url, in_place=False)
        assert agent.run_conversation("Still there?")["completed"]
        agent.close()
    assert [turn[0]["content"] for turn in model.turns] == [prompt]
    assert stored(db.db_path) == [None, None]
