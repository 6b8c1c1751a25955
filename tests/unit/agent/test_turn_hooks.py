"""What plugins hear of a turn of the real agent, and what they may change of it."""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop import plugins
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import CannotReachError
from hermes_desktop.core.session_context import clear_session_vars, set_session_vars
from hermes_desktop.state import SessionDB
from tests.fakes.agents import ScriptedModel
from tests.fakes.plugins import listening, registered
from tests.fakes.prompts import prompts_beside

OF_A_TURN = (
    "on_session_start",
    "pre_llm_call",
    "pre_api_request",
    "post_api_request",
    "api_request_error",
    "transform_llm_output",
    "post_llm_call",
    "on_session_end",
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionDB]:
    db = SessionDB(tmp_path / "state.db")
    yield db
    db.close()


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def agent(store: SessionDB, model: ScriptedModel) -> AIAgent:
    return AIAgent(
        provider=model,
        store=store,
        prompts=prompts_beside(store),
        session_id="s1",
        source="cli",
        clock=SystemClock(),
    )


def test_a_turn_is_told_in_order_with_what_belongs_to_each_hook(agent: AIAgent) -> None:
    tokens = set_session_vars(HERMES_SESSION_PLATFORM="telegram", HERMES_SESSION_USER_ID="u1")
    with listening(*OF_A_TURN) as heard:
        agent.run_conversation("Hello", task_id="t1")
        agent.run_conversation("Again")
    clear_session_vars(tokens)

    first = [name for name, _, _ in heard.calls[:7]]
    assert first == [name for name in OF_A_TURN if name != "api_request_error"]
    assert [name for name, _, _ in heard.calls[7:]] == first[1:]  # the session began once
    calls = {name: kwargs for name, kwargs, _ in heard.calls[:7]}
    who = {"session_id": "s1", "model": "scripted", "platform": "telegram"}
    turn_id = calls["pre_llm_call"]["turn_id"]
    turn = {**who, "task_id": "t1", "turn_id": turn_id}
    assert turn_id.startswith("s1:t1:")
    assert calls["on_session_start"] == who
    assert calls["pre_llm_call"] == {
        **turn,
        "user_message": "Hello",
        "conversation_history": [{"role": "user", "content": "Hello"}],
        "is_first_turn": True,
        "sender_id": "u1",
    }
    assert calls["transform_llm_output"] == {**who, "response_text": "reply 1"}
    said = calls["post_llm_call"].pop("conversation_history")
    assert [each["content"] for each in said] == ["Hello", "reply 1"]
    assert calls["post_llm_call"] == {
        **turn, "user_message": "Hello", "assistant_response": "reply 1"
    }  # fmt: skip
    assert calls["on_session_end"] == {**turn, "completed": True, "interrupted": False}
    for name, kwargs in calls.items():
        assert set(plugins.hooks.HOOKS[name]) <= kwargs.keys() | {"conversation_history"}, name
    assert calls["pre_api_request"]["request_messages"][-1]["content"] == "Hello"
    assert calls["post_api_request"]["response"]["content"] == "reply 1"
    assert heard.calls[7][1]["is_first_turn"] is False


def test_what_plugins_add_is_told_now_and_whenever_the_conversation_is_told_again(
    agent: AIAgent, store: SessionDB, model: ScriptedModel
) -> None:
    with (
        registered("pre_llm_call", lambda **_: {"context": " It rains. "}),
        registered("pre_llm_call", lambda **_: "It is Monday.\ud800"),
        registered("pre_llm_call", lambda **_: {"context": 7}),
    ):
        agent.run_conversation("Hello", turn_note="[a note]")
    agent.run_conversation("Again")

    told = "[a note]\n\nHello\n\nIt rains.\n\nIt is Monday.\ufffd"
    assert model.requests[0].messages[-1]["content"] == told
    assert model.requests[1].messages[1]["content"] == told
    stored = store.get_messages("s1")[0]
    assert (stored["content"], stored["api_content"]) == ("Hello", told)


def test_another_reply_is_delivered_and_the_models_own_is_stored(
    agent: AIAgent, store: SessionDB
) -> None:
    with (
        registered("transform_llm_output", lambda **_: ""),
        registered("transform_llm_output", lambda **_: "Arrr."),
        listening("post_llm_call") as heard,
    ):
        result = agent.run_conversation("Hello")
    assert result["final_response"] == "Arrr."
    assert heard.calls[0][1]["assistant_response"] == "Arrr."
    assert store.get_messages("s1")[-1]["content"] == "reply 1"


def test_plugins_cannot_change_the_conversation_by_what_they_are_given(
    agent: AIAgent, model: ScriptedModel
) -> None:
    def meddle(**given: Any) -> None:
        for name in ("conversation_history", "request_messages"):
            for message in given.get(name, []):
                message["content"] = "meddled"

    with registered("pre_llm_call", meddle), registered("pre_api_request", meddle):
        agent.run_conversation("Hello")
    assert model.requests[0].messages[-1]["content"] == "Hello"


def test_a_model_that_cannot_be_reached_is_told(agent: AIAgent, model: ScriptedModel) -> None:
    model.failure = CannotReachError("Nobody answers.", "refused", status=503)
    with listening(*OF_A_TURN) as heard:
        agent.run_conversation("Hello")
    names = [name for name, _, _ in heard.calls]
    assert names[2:] == ["pre_api_request", "api_request_error", "on_session_end"]
    error = heard.calls[3][1]
    assert error["error"] == {"type": "CannotReachError", "message": "Nobody answers."}
    assert error["status_code"] == 503
    assert not heard.calls[4][1]["completed"]


@pytest.mark.parametrize("misbehave", [lambda: 1 / 0, lambda: int("x"), lambda: sys.exit(3)])
def test_a_plugin_that_raises_changes_nothing(
    agent: AIAgent, misbehave: Callable[[], object]
) -> None:
    with (
        registered("on_session_start", lambda **_: misbehave()),
        registered("pre_llm_call", lambda **_: misbehave()),
        registered("transform_llm_output", lambda **_: misbehave()),
        registered("on_session_end", lambda: None),  # takes nothing of what it is given
    ):
        assert agent.run_conversation("Hello")["final_response"] == "reply 1"


def test_stopping_a_turn_does_not_wait_for_a_plugin(agent: AIAgent) -> None:
    begun, release = threading.Event(), threading.Event()

    def hang(**_: Any) -> None:
        begun.set()
        release.wait(60)

    results: list[Any] = []
    with registered("pre_llm_call", hang):
        turn = threading.Thread(target=lambda: results.append(agent.run_conversation("Hello")))
        turn.start()
        assert begun.wait(60)
        agent.interrupt()
        turn.join(60)
        assert not turn.is_alive()
        release.set()
    assert results[0]["interrupted"]
