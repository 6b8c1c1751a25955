"""The real program and ours in one long session at once: one shortens it, none forks it."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance.health import health_report
from tests.fakes.model_server import ModelServer, Recorded, Reply, text
from tests.interop.conftest import RealHermes

SID = "20260304_120000_abcdef"
COUNT = 200
ROOT = Path(__file__).parents[2]
SHORT = 20_000
"""Bytes. Requests for summaries have more in one or two messages, those of turns in many."""


class Model:
    """Writes summaries slowly; says when it is asked for the first."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def __call__(self, request: Recorded) -> Reply:
        messages = request.json.get("messages", [])
        if len(messages) <= 2 and len(request.body) > SHORT:
            self.asked.set()
            return text("Numbers were noted.", usage=(len(request.body) // 4, 9), delay=1.0)
        return text("Fine.", usage=(len(request.body) // 4, 3))


def prepared(home: Path, base_url: str, *, in_place: bool) -> SessionDB:
    model = {"default": "m", "provider": "custom", "base_url": base_url, "api_key": "k"}
    config = {
        "model": {**model, "context_length": 64_000},
        "compression": {"in_place": in_place},
        "auxiliary": {"title_generation": {"enabled": False}},
    }
    home.joinpath("config.yaml").write_text(json.dumps(config))
    db = SessionDB(home / "state.db")
    db.create_session(SID, "cli", model="m", system_prompt="You help.")
    for number in range(COUNT):
        role = ("user", "assistant")[number % 2]
        db.append_message(SID, role, f"number {number} " + "some different words here " * 50)
    return db


def start(hermes: RealHermes, who: str) -> "subprocess.Popen[bytes]":
    said = ["-q", f"from {who}", "--resume", SID]
    theirs = [str(hermes.python.parent / "hermes"), "chat", "-Q", "-t", "todo", *said]
    ours = [sys.executable, "-m", "hermes_desktop", "chat", *said]
    return subprocess.Popen(
        theirs if who == "hermes" else ours,
        env={**hermes.environment(), "PYTHONPATH": str(ROOT) if who == "ours" else ""},
        cwd=hermes.home.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("first", "in_place", "killed"),
    [
        ("hermes", True, False),
        ("ours", False, False),
        ("hermes", False, True),
    ],
)
def test_one_wins_none_forks_and_both_are_heard(
    hermes: RealHermes, first: str, *, in_place: bool, killed: bool
) -> None:
    second = "ours" if first == "hermes" else "hermes"
    model = Model()
    with ModelServer(responder=model) as server:
        db = prepared(hermes.home, server.base_url, in_place=in_place)
        begun = start(hermes, first)
        assert model.asked.wait(90)
        assert db.get_compression_lock_holder(SID) is not None
        if killed:
            begun.kill()
        other = start(hermes, second)
        assert begun.wait(100) == (-9 if killed else 0)
        assert other.wait(100) == 0
    chain = db.get_compression_lineage(SID)
    assert len(chain) == (1 if in_place or killed else 2)
    children = db.read(
        lambda conn: conn.execute(
            "SELECT count(*) FROM sessions WHERE parent_session_id IS NOT NULL"
        )
    ).fetchone()[0]
    assert children == len(chain) - 1
    assert len(db.list_sessions_rich()) == 1
    told = [row["content"] for row in db.get_messages(chain[-1]) if row["role"] == "user"]
    assert told.count(f"from {second}") == 1
    assert killed or told.count(f"from {first}") == 1
    kept = {
        str(row["content"]).split(" some")[0]
        for sid in chain
        for row in db.get_messages(sid, include_inactive=True)
    }
    assert {f"number {number}" for number in range(COUNT)} <= kept
    db.close()
    assert health_report(hermes.state_db).is_healthy
