"""Turns of the real hermes-agent and of ours in one session, as processes of their own."""

import subprocess
import threading
from pathlib import Path

import pytest

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.services.sessions.open_turns import ForeignTurns
from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, Recorded, Reply, echo
from tests.fakes.program import Program, said
from tests.interop.conftest import RealHermes, choose_model

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, pytest.mark.timeout(300)]

SID = "20260304_120000_abcdef"


@pytest.fixture
def asked(hermes: RealHermes, server: ModelServer) -> threading.Event:
    """Set when ``hermes`` has asked the model; setting ``go`` on it lets the reply come."""
    choose_model(hermes.home, server)
    db = SessionDB(hermes.state_db)
    db.create_session(SID, "cli", model="a-model")
    db.append_message(SID, "user", "Hello?")
    db.append_message(SID, "assistant", "Yes.")
    db.close()
    return threading.Event()


def theirs(hermes: RealHermes, text: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(hermes.python.parent / "hermes"), "chat", "-Q", "-q", text, "--resume", SID],
        env=hermes.environment(),
        cwd=hermes.home.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def hold_first(server: ModelServer, asked: threading.Event) -> threading.Event:
    may = threading.Event()

    def answer(request: Recorded) -> Reply:
        if not asked.is_set():
            asked.set()
            may.wait(60)
        return echo(request)

    server.responder = answer
    return may


def test_chat_waits_for_a_running_turn_of_hermes(
    hermes: RealHermes, server: ModelServer, asked: threading.Event
) -> None:
    may = hold_first(server, asked)
    running = theirs(hermes, "Theirs?")
    assert asked.wait(60)
    chat = Program(hermes.home).start("chat", "-q", "Ours?", "--resume", SID)
    assert chat.stderr is not None
    line = chat.stderr.readline().decode()
    assert line.startswith("Waiting up to 5:00 min: “Theirs?” had activity")
    assert f"(process {running.pid}) may still be answering" in line
    may.set()
    out, err = chat.communicate(timeout=60)
    assert chat.returncode == 0, err.decode()
    assert out.decode() == "You said: Ours?\n"
    running.communicate(timeout=60)
    rows = [row for row in said(hermes.home, SID)[2:] if row[1]]
    assert [role for role, _ in rows] == ["user", "assistant", "user", "assistant"]
    assert [rows[0][1], rows[2][1]] == ["Theirs?", "Ours?"]


def test_an_ended_hermes_chat_is_no_open_turn(
    hermes: RealHermes, server: ModelServer, asked: threading.Event
) -> None:
    hermes.command("chat", "-Q", "-q", "Theirs?", "--resume", SID)
    db = SessionDB(hermes.state_db)
    row = db.get_session(SID)
    assert row is not None
    assert row["ended_at"] is None, "hermes never closes it"
    assert ForeignTurns(db, SystemClock()).find(SID) is None
    db.append_message(SID, "user", "And without a reply?")
    assert ForeignTurns(db, SystemClock()).find(SID) is None
    db.close()
    done = Program(hermes.home).run("chat", "-q", "Ours?", "--resume", SID)
    assert (done.code, done.err) == (0, "")


def test_hermes_works_on_a_home_whose_sessions_are_locked(
    hermes: RealHermes, server: ModelServer, asked: threading.Event
) -> None:
    may = hold_first(server, asked)
    chat = Program(hermes.home).start("chat", "-q", "Ours?", "--resume", SID)
    assert asked.wait(60)
    assert [each.name for each in (hermes.home / "desktop" / "turns").iterdir()] == [f"{SID}.turn"]
    assert SID in hermes.command("sessions", "list", "--limit", "5")
    may.set()
    assert chat.communicate(timeout=60)[0].decode() == "You said: Ours?\n"
    assert not list(Path(hermes.home / "desktop" / "turns").iterdir())
