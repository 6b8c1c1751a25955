"""A turn in which its conversation is shortened, killed at any statement: it goes on, whole."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hermes_desktop.agent.compression.compression_plan import is_summary
from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance.health import health_report
from tests.fakes.narrow_model import NarrowModel
from tests.integration.killed_turns import SID, TEXT, agent_on

COUNT = 90
ALL = 10**6
_PROGRAM = Path(__file__).parent / "killed_turns.py"
_ROOT = Path(__file__).parents[2]


def prepared(path: Path) -> None:
    with_words = SessionDB(path)
    with_words.create_session(SID, "desktop", model="narrow", system_prompt="You help.")
    with_words.set_session_title(SID, "A long talk")
    for number in range(COUNT):
        role = ("user", "assistant")[number % 2]
        with_words.append_message(SID, role, f"number {number} " + "word " * 90)
    with_words.close()


def run(folder: Path, base_url: str, mode: str, steps: Sequence[int]) -> list[list[int]]:
    done = subprocess.run(
        [sys.executable, _PROGRAM, folder / "template.db", folder, base_url, mode]
        + [str(step) for step in steps],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        timeout=250,
    )
    return [[int(each) for each in line.split()] for line in done.stdout.splitlines()]


def goes_on(path: Path, base_url: str, mode: str) -> None:
    """What must be true of a conversation whose turn was killed, and of its next turn."""
    db = SessionDB(path)
    tip = db.resolve_resume_session_id(SID)
    assert db.get_compression_lock_holder(tip) is None
    asked = TEXT in {row["content"] for row in db.get_messages(tip)}
    agent = agent_on(db, tip, base_url, in_place=mode == "in_place")
    row = db.get_session(tip)
    assert row is not None
    agent.bind(tip, db.get_messages_as_conversation(tip))
    result = agent.run_conversation("Still there?")
    agent.close()
    assert result["completed"], result
    chain = db.get_compression_lineage(SID)
    assert chain[-1] == result["session_id"]
    assert len(chain) == (1 if mode == "in_place" else 2)
    children = db.read(
        lambda conn: conn.execute(
            "SELECT count(*) FROM sessions WHERE parent_session_id = ?", (SID,)
        )
    ).fetchone()[0]
    assert children == len(chain) - 1
    (listed,) = db.list_sessions_rich()
    assert listed["title"].startswith("A long talk")
    told = db.get_messages_as_conversation(chain[-1])
    assert sum(map(is_summary, told)) == 1
    assert told[0]["content"].startswith("number 0 ")
    said = [each["content"] for each in told if each["role"] == "user" and not is_summary(each)]
    assert said.count("Still there?") == 1
    assert said.count(TEXT) == asked
    everything = [each for sid in chain for each in db.get_messages(sid, include_inactive=True)]
    kept = {str(each["content"]).split(" word")[0] for each in everything}
    assert {f"number {number}" for number in range(COUNT)} <= kept
    db.close()
    assert health_report(path).is_healthy


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", ["rotate", "in_place"])
def test_killed_at_any_statement_it_goes_on_whole(tmp_path: Path, mode: str) -> None:
    prepared(tmp_path / "template.db")
    with NarrowModel().serve() as server:
        ((_, ended, last),) = run(tmp_path, server.base_url, mode, [ALL])
        assert ended == 0
        assert last > 20
        every = int(os.environ.get("HERMES_KILL_EVERY", max(1, last // 12)))
        steps = sorted({*range(1, last, every), last - 1, last})
        for step, ended, _ in run(tmp_path, server.base_url, mode, steps):
            assert ended == signal.SIGKILL, step
            goes_on(tmp_path / f"{step}.db", server.base_url, mode)
