"""Models that stand by, and answers that say nothing."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.fallback import (
    LEFT_ALONE_LONG_S,
    LEFT_ALONE_S,
    FallbackProvider,
)
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.types import (
    CallNote,
    ChatRequest,
    Finished,
    ModelChoice,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
)
from hermes_desktop.core.errors import CannotReachError, ModelRefusedError, TooLongError
from tests.fakes import model_server as fake
from tests.fakes.clock import MovableClock
from tests.fakes.model_server import ModelServer

ONE = ({"role": "user", "content": "Hello"},)
NO_RETRIES = Retries(count=0)


@pytest.fixture
def servers() -> Iterator[list[ModelServer]]:
    with ExitStack() as stack:
        yield [stack.enter_context(ModelServer()) for _ in range(2)]


def _provider(base_url: str, model: str, limit: int | None = None) -> OpenAICompatibleProvider:
    choice = ModelChoice(model, base_url, f"sk-of-{model}", model, "t", max_tokens=limit)
    return OpenAICompatibleProvider(choice, retries=NO_RETRIES)


def _both(
    servers: list[ModelServer], clock: MovableClock, instead_of: str = ""
) -> FallbackProvider:
    first, second = (each.base_url for each in servers)
    return FallbackProvider(
        [_provider(first, "first"), _provider(second, "second", 99)], clock, instead_of
    )


def _run(provider: FallbackProvider | OpenAICompatibleProvider) -> list[StreamEvent]:
    request = ChatRequest(provider.choice.model, ONE, provider.choice.max_tokens)
    try:
        return list(provider.stream(request, cancel=threading.Event()))
    finally:
        provider.close()


def _said(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def _notes(events: list[StreamEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, CallNote) and event.lasting]


REFUSALS = [
    fake.error(401, "Incorrect API key"),
    fake.error(402, "No credit"),
    fake.error(429, "Slow down"),
    fake.error(503, "Overloaded"),
    fake.error(500, "Oops"),
    fake.error(404, "No such model"),
    fake.drop(),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: str(each.status))
def test_the_next_answers_and_says_so(servers: list[ModelServer], refusal: fake.Reply) -> None:
    first, second = servers
    first.script(refusal)
    both = _both(servers, MovableClock())
    assert both.choice.model == "first"
    events = _run(both)
    assert _said(events) == "You said: Hello"
    (note,) = _notes(events)
    assert note.startswith("second (second) answers: ")
    assert both.choice.model == "second"
    sent = second.requests[0]
    assert (sent.json["model"], sent.json["max_tokens"]) == ("second", 99)
    assert sent.headers["Authorization"] == "Bearer sk-of-second"
    # It goes on answering, without being announced again.
    assert _notes(_run(both)) == []
    assert len(first.requests) == 1


def test_the_chosen_one_comes_back(servers: list[ModelServer]) -> None:
    clock = MovableClock()
    servers[0].script(fake.error(503, "Overloaded"))
    both = _both(servers, clock)
    _run(both)
    clock.advance(LEFT_ALONE_S + 1)
    events = _run(both)
    assert _notes(events) == ["first (first) answers again."]
    assert "max_tokens" not in servers[0].requests[-1].json


def test_a_refused_key_is_not_tried_every_minute(servers: list[ModelServer]) -> None:
    clock = MovableClock()
    servers[0].script(fake.error(401, "Incorrect API key"))
    both = _both(servers, clock)
    _run(both)
    clock.advance(LEFT_ALONE_S + 1)
    _run(both)
    assert len(servers[0].requests) == 1
    clock.advance(LEFT_ALONE_LONG_S)
    _run(both)
    assert len(servers[0].requests) == 2


def test_nobody_answers(servers: list[ModelServer]) -> None:
    servers[0].script(fake.error(401, "Incorrect API key"))
    servers[1].script(fake.error(402, "No credit"))
    both = _both(servers, MovableClock())
    with pytest.raises(ModelRefusedError) as caught:
        _run(both)
    assert both.choice.model == "first"
    assert caught.value.reason == "auth"
    assert "fallback model did not answer either" in caught.value.detail


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (fake.error(400, "maximum context length is 100 tokens"), TooLongError),
        (fake.error(400, "messages must alternate"), ModelRefusedError),
        (fake.error(400, "flagged", code="content_filter"), ModelRefusedError),
    ],
)
def test_what_another_would_refuse_too_is_told(
    servers: list[ModelServer], refusal: fake.Reply, error: type[Exception]
) -> None:
    servers[0].script(refusal)
    with pytest.raises(error):
        _run(_both(servers, MovableClock()))
    assert not servers[1].requests


def test_what_one_refuses_is_about_that_one(servers: list[ModelServer]) -> None:
    servers[0].script(fake.error(401, "Incorrect API key"))
    servers[1].script(fake.error(400, "maximum context length is 8192 tokens"))
    both = _both(servers, MovableClock())
    with pytest.raises(TooLongError):
        _run(both)
    assert both.choice.model == "second"
    (note,) = _notes(_run(both))
    assert note == "second (second) answers: first rejected the key."


def test_half_a_reply_is_not_begun_anew_by_another(servers: list[ModelServer]) -> None:
    servers[0].script(fake.cut_after("one two three", 2))
    with pytest.raises(Exception, match="was interrupted"):
        _run(_both(servers, MovableClock()))
    assert not servers[1].requests


def test_one_that_answers_because_the_chosen_one_cannot_be_asked(
    servers: list[ModelServer],
) -> None:
    both = _both(servers, MovableClock(), "There is no key for anthropic.")
    events = _run(both)
    assert _notes(events) == ["first (first) answers: There is no key for anthropic."]
    assert _notes(_run(both)) == []


def test_nobody_is_there() -> None:
    with fake.refused_address() as nowhere:
        both = FallbackProvider([_provider(nowhere, "a"), _provider(nowhere, "b")], MovableClock())
        with pytest.raises(CannotReachError):
            _run(both)


# ------------------------------------------------------------------------- answers without a word


EMPTY = fake.text("")


def test_an_empty_answer_is_asked_for_once_more(servers: list[ModelServer]) -> None:
    server = servers[0]
    server.script(EMPTY, fake.text("Now then."))
    assert _said(_run(_provider(server.base_url, "m"))) == "Now then."
    server.script(EMPTY, EMPTY)
    events = _run(_provider(server.base_url, "m"))
    assert isinstance(events[-1], Finished)
    assert _said(events) == ""
    assert len(server.requests) == 4


def test_an_answer_that_only_thought(servers: list[ModelServer]) -> None:
    server = servers[0]
    thought = fake.text("", reasoning=["Hm."])
    server.script(thought, fake.text("Now then."))
    events = _run(_provider(server.base_url, "m"))
    assert _said(events) == "Now then."
    assert ReasoningDelta("Hm.") in events


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_answers_that_were_cut(servers: list[ModelServer], reason: str) -> None:
    server = servers[0]
    server.script(fake.text("Once upon", finish=reason))
    (note,) = _notes(_run(_provider(server.base_url, "m")))
    assert "cut" in note


def test_all_tokens_used_for_thinking(servers: list[ModelServer]) -> None:
    server = servers[0]
    server.script(fake.text("", reasoning=["Hm."], finish="length"))
    (note,) = _notes(_run(_provider(server.base_url, "m")))
    assert "max_tokens" in note
    assert len(server.requests) == 1


def test_a_filter_that_leaves_nothing(servers: list[ModelServer]) -> None:
    server = servers[0]
    server.script(fake.text("", finish="content_filter"))
    with pytest.raises(ModelRefusedError) as caught:
        _run(_provider(server.base_url, "m"))
    assert caught.value.reason == "policy"
