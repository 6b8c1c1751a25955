"""Another program shortens a conversation while we are to say something in it."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.agent import AIAgent
from hermes_desktop.agent.compression_plan import MARK
from hermes_desktop.agent.others_shortening import WAITING, let_others_finish
from hermes_desktop.agent.types import CallNote
from hermes_desktop.state import SessionDB
from tests.fakes.narrow_model import NarrowModel
from tests.integration.killed_turns import agent_on

SID = "20260304_120000_abcdef"
THEIRS = f"pid={os.getpid()}:tid=1:agent=0123456789ab:nonce=01234567"
SUMMARY = [
    {"role": "user", "content": "number 0"},
    {"role": "assistant", "content": f"{MARK} So it was."},
    {"role": "user", "content": "number 8"},
    {"role": "assistant", "content": "number 9"},
]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB(tmp_path / "state.db")
    store.create_session(SID, "desktop", system_prompt="You help.")
    for number in range(10):
        store.append_message(SID, ("user", "assistant")[number % 2], f"number {number}")
    yield store
    store.close()


class Turn:
    """A turn on a thread, and what it tells."""

    def __init__(self, agent: AIAgent) -> None:
        self.waits = threading.Event()
        self.notes: list[str] = []
        self.result: Any = None
        self._agent = agent
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.result = self._agent.run_conversation("And on?", tool_callback=self._hear)

    def _hear(self, news: object) -> None:
        if isinstance(news, CallNote):
            self.notes.append(news.text)
            self.waits.set()

    def over(self) -> Any:
        self._thread.join(30)
        return self.result


def bound(db: SessionDB, base_url: str) -> AIAgent:
    agent = agent_on(db, SID, base_url, in_place=True)
    agent.bind(SID, "You help.", db.get_messages_as_conversation(SID))
    return agent


@pytest.mark.parametrize("in_place", [True, False])
def test_what_is_said_waits_and_follows(db: SessionDB, *, in_place: bool) -> None:
    """As ``hermes`` does it: what it has not read is set aside with the rest."""
    assert db.try_acquire_compression_lock(SID, THEIRS)
    with NarrowModel().serve() as server:
        agent = bound(db, server.base_url)
        turn = Turn(agent)
        assert turn.waits.wait(20)
        assert turn.notes == [WAITING]
        assert len(db.get_messages(SID)) == 10
        if in_place:
            db.archive_and_compact(SID, SUMMARY)
        else:
            db.end_session(SID, "compression")
            db.create_session("next", "desktop", parent_session_id=SID)
            db.replace_messages("next", SUMMARY)
        db.release_compression_lock(SID, THEIRS)
        result = turn.over()
        agent.close()
    assert result["completed"], result
    assert result["session_id"] == (SID if in_place else "next")
    assert turn.notes[:2] == [WAITING, ""]
    said = [row["content"] for row in db.get_messages(result["session_id"])]
    assert said == [*(each["content"] for each in SUMMARY), "And on?", NarrowModel().reply]
    assert len(server.requests[-1].messages) == 6


def test_who_was_killed_is_not_waited_for(db: SessionDB) -> None:
    assert db.try_acquire_compression_lock(SID, "pid=999999999:tid=1:agent=a:nonce=b")
    with NarrowModel().serve() as server:
        agent = bound(db, server.base_url)
        turn = Turn(agent)
        assert turn.over()["completed"]
        agent.close()
    assert turn.notes == []


def test_waiting_ends_when_it_is_wished_and_when_it_took_too_long(db: SessionDB) -> None:
    assert db.try_acquire_compression_lock(SID, THEIRS)
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    assert let_others_finish(db, SID, stop, None) == SID
    assert let_others_finish(db, SID, threading.Event(), None, longest_s=0.1) == SID
