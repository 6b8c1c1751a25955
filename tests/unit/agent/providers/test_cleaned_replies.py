"""Replies in any pieces: no known secret passes, and nothing else is changed."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.agent.providers.cleaned_replies import CleanedReplies
from hermes_desktop.agent.types import (
    CancelSignal,
    ChatRequest,
    Finished,
    ModelChoice,
    ReasoningDelta,
    ReplyRestarted,
    StreamEvent,
    TextDelta,
    TextRetracted,
)
from hermes_desktop.core.errors import CannotReachError
from hermes_desktop.core.log_setup import SecretRedactor

SECRETS = ("hunter2hunter2", "aaaaaaab", "pass word with spaces", "hunter2")
REQUEST = ChatRequest("m", ())


class Scripted:
    """A provider that yields these events, then fails if it is to."""

    choice = ModelChoice("m", "http://x/v1", None, "custom", "a test")

    def __init__(self, *events: StreamEvent, fails: bool = False) -> None:
        self.events = events
        self.fails = fails

    def stream(self, request: ChatRequest, *, cancel: CancelSignal) -> Iterator[StreamEvent]:
        yield from self.events
        if self.fails:
            raise CannotReachError("No answer.", "", "")

    def close(self) -> None:
        return


def cleaned(*events: StreamEvent, fails: bool = False) -> list[StreamEvent]:
    redactor = SecretRedactor()
    for each in SECRETS:
        redactor.learn(each)
    provider = CleanedReplies(Scripted(*events, fails=fails), redactor)
    found: list[StreamEvent] = []
    try:
        found += iter(provider.stream(REQUEST, cancel=threading.Event()))
    except CannotReachError:
        assert fails
    return found


def text_of(events: list[StreamEvent]) -> str:
    return "".join(each.text for each in events if isinstance(each, TextDelta))


@given(st.data())
def test_in_any_pieces(data: st.DataObject) -> None:
    parts = st.sampled_from([*SECRETS, "hunter", "aaaa", "pass word", " and ", "x", "2", "ä"])
    whole = "".join(data.draw(st.lists(parts, max_size=8)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    edges = list(zip([0, *cuts], [*cuts, len(whole)], strict=True))
    done = Finished("stop")
    found = cleaned(*(TextDelta(whole[a:b]) for a, b in edges), done)
    assert found[-1] == done
    said = text_of(found)
    assert not any(each in said for each in SECRETS)
    if not any(each in whole for each in SECRETS):
        assert said == whole


def test_ordinary_text_is_not_delayed() -> None:
    pieces = [TextDelta(each) for each in ("Good ", "morning, ", "all of you")]
    assert cleaned(*pieces) == pieces


def test_thinking_is_cleaned_too() -> None:
    found = cleaned(ReasoningDelta("it is hunter2h", marked=True), ReasoningDelta("unter2 I think"))
    thought = "".join(each.text for each in found if isinstance(each, ReasoningDelta))
    assert thought == "it is [secret] I think"


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_kept_comes_at_the_end(fails: bool) -> None:
    assert text_of(cleaned(TextDelta("a hunte"), fails=fails)) == "a hunte"


def test_retracted_text_is_what_was_given() -> None:
    found = cleaned(TextDelta("a hunter2 b hun"), TextRetracted("a hunter2 b hun"), TextDelta("c"))
    given_before = text_of(found[:-2])
    assert found[-2:] == [TextRetracted("a [secret] b hun"), TextDelta("c")]
    assert given_before == "a [secret] b hun"


def test_a_reply_that_begins_again() -> None:
    found = cleaned(TextDelta("hunte"), ReplyRestarted(), TextDelta("r2 is gone"))
    assert found == [ReplyRestarted(), TextDelta("r2 is gone")]


def test_a_few_letters_that_begin_a_secret_are_not_delayed() -> None:
    assert cleaned(TextDelta("all of h"), TextDelta("im")) == [
        TextDelta("all of h"),
        TextDelta("im"),
    ]
    assert text_of(cleaned(TextDelta("it is hun"), TextDelta("ter2!"))) == "it is hun[secret]!"
