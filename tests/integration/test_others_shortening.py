"""Another program shortens a conversation while we are to say something in it."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.compression.compression_turn import WAITING, wait_for_foreign_compaction
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import CallNote
from hermes_desktop.core.text.stored_text import SUMMARY_MARK
from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, Recorded, Reply
from tests.fakes.narrow_model import NarrowModel, is_summary_request
from tests.integration.killed_turns import agent_on

SID = "20260304_120000_abcdef"
THEIRS = f"pid={os.getpid()}:tid=1:agent=0123456789ab:nonce=01234567"
SUMMARY = [
    {"role": "user", "content": "number 0"},
    {"role": "assistant", "content": f"{SUMMARY_MARK} So it was."},
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
        self._thread.join(60)
        return self.result


def bound(db: SessionDB, base_url: str) -> AIAgent:
    agent = agent_on(db, SID, base_url, in_place=True)
    agent.bind(SID, db.get_messages_as_conversation(SID))
    return agent


@pytest.mark.parametrize("in_place", [True, False])
def test_what_is_said_waits_and_follows(db: SessionDB, *, in_place: bool) -> None:
    """As ``hermes`` does it: what it has not read is set aside with the rest."""
    assert db.try_acquire_compression_lock(SID, THEIRS)
    with NarrowModel().serve() as server:
        agent = bound(db, server.base_url)
        turn = Turn(agent)
        assert turn.waits.wait(60)
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


@pytest.mark.parametrize("in_place", [True, False])
def test_what_was_asked_meanwhile_is_told_with_its_reply(db: SessionDB, *, in_place: bool) -> None:
    """Another program shortens it while the model answers, and has not read the question."""
    model = NarrowModel()

    def shorten() -> None:
        with contextlib.closing(SessionDB(db.db_path)) as other:
            if in_place:
                other.archive_and_compact(SID, SUMMARY)
            else:
                other.end_session(SID, "compression")
                other.create_session("next", "desktop", parent_session_id=SID)
                other.replace_messages("next", SUMMARY)

    model.on_turn = shorten
    rows: list[int] = []
    with model.serve() as server:
        agent = bound(db, server.base_url)
        moves: list[str] = []
        agent.on_moved = moves.append
        result = agent.run_conversation("And on?", persisted_callback=rows.append)
        model.on_turn = lambda: None
        agent.bind(agent.session_id, db.get_messages_as_conversation(agent.session_id))
        assert agent.run_conversation("And on?")["completed"]
        agent.close()
    assert result["completed"], result
    session_id = SID if in_place else "next"
    assert (result["session_id"], moves) == (session_id, [] if in_place else ["next"])
    told = [row["content"] for row in db.get_messages(session_id)]
    asked = ["And on?", model.reply]
    assert told == [*(each["content"] for each in SUMMARY), *asked, *asked]
    assert rows[-1] == db.get_messages(session_id)[5]["id"]
    shown = [each.content for each in db.read_messages(session_id, limit=100)]
    assert shown.count("And on?") == 2
    assert db.get_compression_lineage(SID) == ([SID] if in_place else [SID, "next"])


@pytest.mark.parametrize("in_place", [True, False])
def test_what_is_said_is_stored_before_a_summary_is_written(
    db: SessionDB, *, in_place: bool
) -> None:
    """A program that is killed while it shortens has not lost what was typed."""
    for number in range(10, 90):
        role = ("user", "assistant")[number % 2]
        db.append_message(SID, role, f"number {number} " + "word " * 90)
    model, found = NarrowModel(), []

    def answer(request: Recorded) -> Reply:
        if is_summary_request(request):
            found.append([row["content"] for row in db.get_messages(SID)][-1])
        return model(request)

    with ModelServer(responder=answer) as server:
        agent = agent_on(db, SID, server.base_url, in_place=in_place)
        agent.bind(SID, db.get_messages_as_conversation(SID))
        result = agent.run_conversation("And on?", platform_message_id="m1")
        agent.close()
    assert result["completed"], result
    assert found
    assert set(found) == {"And on?"}
    rows = db.get_messages(result["session_id"])
    assert [row["content"] for row in rows][-2:] == ["And on?", model.reply]
    assert [row["content"] for row in rows].count("And on?") == 1
    assert rows[-2]["platform_message_id"] == "m1"


def test_what_a_person_took_back_is_not_said_again(db: SessionDB) -> None:
    model = NarrowModel()
    with model.serve() as server:
        agent = bound(db, server.base_url)
        model.on_turn = lambda: db.rewind_to_message(SID, db.get_messages(SID)[-1]["id"])
        assert agent.run_conversation("And on?")["completed"]
        agent.close()
    said = [row["content"] for row in db.get_messages(SID)]
    assert "And on?" not in said


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
    assert wait_for_foreign_compaction(db, SID, stop, None) == SID
    assert wait_for_foreign_compaction(db, SID, threading.Event(), None, longest_s=0.1) == SID
