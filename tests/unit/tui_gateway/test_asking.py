"""What waits for a person in a live session, inside one process."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.user_requests import UserAnswer
from hermes_desktop.tui_gateway import live_sessions, server
from hermes_desktop.tui_gateway.ending import follow_agent
from hermes_desktop.tui_gateway.serving_state import after_answer, when_answered
from tests.fakes.rpc_server import Peer, ServerStage, served
from tests.fakes.user_requests import approval_request, question_request


class Waiting:
    """Agents that wait, each on a thread of its own."""

    def __init__(self, stage: ServerStage) -> None:
        self.stage = stage
        self.requests = RequestQueue(SystemClock())
        self.answers: list[UserAnswer] = []
        self.threads: list[threading.Thread] = []
        server.configure(replace(stage.program(), requests=self.requests))

    def ask(self, key: str, number: int) -> None:
        now = time.time()
        request = approval_request(
            f"a{number}", key, key, "", "tui", "terminal", f"rm {number}", "/home/otto",
            ("It deletes.",), ("once", "deny"), now, now + 60,
        )  # fmt: skip
        self._wait(lambda: self.requests.ask(request, threading.Event(), 60))

    def wonder(self, key: str) -> None:
        now = time.time()
        question = question_request("q1", key, key, "", "tui", "Which?", ("a", "b"), now, now + 60)
        self._wait(lambda: self.requests.ask(question, threading.Event(), 60))

    def _wait(self, call: object) -> None:
        thread = threading.Thread(target=lambda: self.answers.append(call()))  # type: ignore[operator]
        self.threads.append(thread)
        thread.start()

    def over(self) -> list[UserAnswer]:
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()
        return self.answers


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    with served(tmp_path) as stage:
        made = Waiting(stage)
        yield made
        made.requests.close()
        made.over()


def test_all_at_once(waiting: Waiting) -> None:
    stage = waiting.stage
    sid, session = stage.begin()
    for number in range(3):
        waiting.ask(session["session_key"], number)
    stage.peer.wait_for("approval.request", 3)
    assert stage.code("approval.respond", session_id=sid, choice="always") == 4004
    assert stage.call("approval.respond", session_id=sid, choice="deny", all=True) == {
        "resolved": 3
    }
    assert {each.reason for each in waiting.over()} == {"answered"}
    assert {each["by"] for each in stage.peer.payloads("approval.resolved")} == {"rpc"}


def test_the_oldest_first_or_a_named_one(waiting: Waiting) -> None:
    stage = waiting.stage
    sid, session = stage.begin()
    for number in range(3):
        waiting.ask(session["session_key"], number)
        stage.peer.wait_for("approval.request", number + 1)
    stage.call("approval.respond", session_id=sid, choice="once")
    stage.call("approval.respond", session_id=sid, choice="deny", request_id="a2")
    assert [each.id for each in waiting.requests.pending()] == ["a1"]
    stage.call("approval.respond", session_id=sid, choice="deny")
    waiting.over()


def test_another_session_answers_nothing_here(waiting: Waiting) -> None:
    stage = waiting.stage
    _, session = stage.begin()
    other, _ = stage.begin()
    waiting.ask(session["session_key"], 1)
    stage.peer.wait_for("approval.request")
    assert stage.call("approval.respond", session_id=other, choice="once") == {"resolved": 0}
    assert waiting.requests.pending()


def test_who_is_nowhere_live_is_not_asked(waiting: Waiting) -> None:
    waiting.ask("no such session", 1)
    waiting.wonder("no such session")
    assert {each.reason for each in waiting.over()} == {"nobody"}


def test_a_peer_that_leaves_ends_what_it_alone_could_answer(waiting: Waiting) -> None:
    stage = waiting.stage
    _, session = stage.begin()
    waiting.ask(session["session_key"], 1)
    waiting.wonder(session["session_key"])
    stage.peer.wait_for("approval.request")
    stage.peer.wait_for("clarify.request")
    live_sessions.left_by(server.SERVER, stage.peer, 0.0)
    assert {each.reason for each in waiting.over()} == {"gone"}


def test_a_silent_peer_hears_and_is_not_asked(waiting: Waiting) -> None:
    stage = waiting.stage
    sid, session = stage.begin()
    asking = server.SERVER.state.asking
    assert asking is not None
    asking.input_closed(stage.peer)
    waiting.wonder(session["session_key"])
    assert [each.reason for each in waiting.over()] == ["nobody"]
    second = Peer()
    stage.call("session.activate", peer=second, session_id=sid)
    waiting.wonder(session["session_key"])
    second.wait_for("clarify.request")
    stage.call("clarify.respond", request_id="q1", answer="2")
    assert waiting.over()[-1] == UserAnswer("b", "answered", "rpc")


def test_who_comes_is_told_after_the_answer(waiting: Waiting) -> None:
    stage = waiting.stage
    sid, session = stage.begin()
    waiting.wonder(session["session_key"])
    stage.peer.wait_for("clarify.request")
    second = Peer()
    afterwards: list[object] = []
    token = after_answer.set(afterwards)  # type: ignore[arg-type]
    try:
        found = stage.call("session.resume", peer=second, session_id=sid)
    finally:
        after_answer.reset(token)
    assert [each["question"] for each in found["pending"]["questions"]] == ["Which?"]
    assert second.frames == []
    for call in afterwards:
        call()  # type: ignore[operator]
    assert second.kinds() == ["clarify.request"]


def test_without_an_answer_on_its_way_it_is_done_at_once() -> None:
    done: list[int] = []
    when_answered(lambda: done.append(1))
    assert done == [1]


def test_who_asks_nobody_goes_on_so_after_a_compression(waiting: Waiting) -> None:
    stage = waiting.stage
    sid, session = stage.begin()
    stage.call("config.set", key="yolo", session_id=sid, value="1")
    old = session["session_key"]
    session["agent"] = SimpleNamespace(session_id="the next one", close=lambda: None)
    follow_agent(server.SERVER, session, clear_pending_title=True, restart_slash_worker=True)
    assert stage.call("config.get", key="yolo", session_id=sid)["value"] == "1"
    assert waiting.requests.is_free("the next one")
    # What began before, and asks under the old key, is of the same session.
    assert waiting.requests.is_free(old)
    session["agent"] = None


@pytest.mark.parametrize(
    ("document", "mode"),
    [
        ({}, "smart"),
        ({"approvals": {"mode": "manual"}}, "manual"),
        ({"approvals": {"mode": False}}, "off"),
        ({"approvals": {"mode": "off"}}, "off"),
        ({"approvals": {"mode": ["x"]}}, "smart"),
        ({"approvals": 3}, "smart"),
    ],
)
def test_the_mode_of_the_home(
    waiting: Waiting, document: dict[str, object], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = waiting.stage
    monkeypatch.setattr(stage.settings, "document", lambda: document)
    sid, _ = stage.begin()
    assert stage.call("config.get", key="approval_mode")["value"] == mode
    params = {"key": "approval_mode", "session_id": sid, "value": "manual"}
    if mode == "off":
        assert stage.code("config.set", **params) == 4004
    else:
        assert stage.call("config.set", **params)["value"] == "manual"
