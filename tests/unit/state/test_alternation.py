"""A history in the shape that endpoints insist on; what hermes-agent makes of it stands beside."""

from typing import Any

import pytest

from hermes_desktop.state.conversations.conversation import repaired


def user(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def answer(text: Any, *calls: str, **more: Any) -> dict[str, Any]:
    made = {"tool_calls": [{"id": call, "type": "function"} for call in calls]} if calls else {}
    return {"role": "assistant", "content": text, **made, **more}


def result(text: str, call: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "content": text, **({"tool_call_id": call} if call else {})}


def test_what_is_in_order_stays() -> None:
    history = [user("a"), answer("", "1"), result("x", "1"), answer("b"), user("c"), answer("d")]
    assert repaired(history) == history


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (user("a"), user("b"), user("a\n\nb")),
        (user(""), user("b"), user("b")),
        (user("a", message_id="1"), user("b", message_id="2"), user("a\n\nb", message_id="1")),
        (user("a", api_content="A"), user("b"), user("a\n\nb")),
        (answer("a"), answer("b"), answer("a\nb")),
        (answer(""), answer("b"), answer("b")),
        (answer(None), answer(None), answer(None)),
        (answer("a", "1"), answer("b", "2"), answer("a\nb", "1", "2")),
        (
            answer("a", reasoning="r", finish_reason="stop"),
            answer("b", reasoning="q", finish_reason="length"),
            answer("a\nb", reasoning="r", finish_reason="stop"),
        ),
        (
            answer("a", reasoning_content=""),
            answer("b", reasoning_content="z"),
            answer("a\nb", reasoning_content="z"),
        ),
        (
            answer([{"type": "text", "text": "a"}]),
            answer("b"),
            answer([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ),
    ],
)
def test_neighbours_of_one_role_are_joined(
    first: dict[str, Any], second: dict[str, Any], joined: dict[str, Any]
) -> None:
    before = [dict(first), dict(second)]
    assert repaired([first, second]) == [joined]
    assert [first, second] == before


@pytest.mark.parametrize(
    "history",
    [
        [user([{"type": "text", "text": "p"}]), user("b")],
        [user("a"), {"role": "system", "content": "s"}, user("b")],
        [answer("x"), {"role": "session_meta", "content": None}, answer("y")],
        [answer("", "1"), result("x", "1"), answer("y")],
    ],
)
def test_what_cannot_be_joined_stays(history: list[dict[str, Any]]) -> None:
    assert repaired(history) == history


def test_results_of_calls_that_nobody_made_go() -> None:
    history = [
        user("a"),
        result("stray", "0"),
        result("without id"),
        answer("x", "1", "2"),
        result("one", "1"),
        result("one again", "1"),
        result("unknown", "9"),
        result("two", "2"),
        answer("y", "1"),
        result("one anew", "1"),
        user("b"),
        result("late", "1"),
    ]
    texts = [message["content"] for message in repaired(history)]
    assert texts == ["a", "x", "one", "two", "y", "one anew", "b"]


def test_calls_of_both_halves_of_an_answer_may_be_answered() -> None:
    history = [answer("x", "1"), answer("y", "2"), result("one", "1"), result("two", "2")]
    assert [m["content"] for m in repaired(history)] == ["x\ny", "one", "two"]


def test_nothing() -> None:
    assert repaired([]) == []
