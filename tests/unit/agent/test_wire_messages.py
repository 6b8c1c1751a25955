import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.agent.turns.wire_messages import wire_messages


def call(call_id: str, name: str = "look", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str, content: Any = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "tool_name": "look", "content": content}


def wire(*history: dict[str, Any]) -> list[dict[str, Any]]:
    return list(wire_messages("", history))


def test_only_what_the_wire_knows() -> None:
    history = (
        {"role": "session_meta", "content": None},
        {"role": "user", "content": "a", "timestamp": 1.0, "message_id": "7", "_x": 1},
        {
            "role": "assistant",
            "content": "b",
            "finish_reason": "stop",
            "reasoning": "r",
            "reasoning_content": "",
        },
        {"role": "critic", "content": "unknown roles are left out"},
    )
    assert wire_messages("S", history) == (
        {"role": "system", "content": "S"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
    )


def test_what_was_sent_stands_in_for_what_is_shown() -> None:
    assert wire({"role": "user", "content": "shown", "api_content": " sent "}) == [
        {"role": "user", "content": " sent "}
    ]


def test_calls_and_results_stay_together() -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [call("1"), call("2")]}
    assert wire(
        {"role": "user", "content": "x"}, asked, result("2"), result("1", ["a", {"text": "b"}])
    ) == [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call("1"), call("2")]},
        {"role": "tool", "tool_call_id": "1", "content": "a\nb"},
        {"role": "tool", "tool_call_id": "2", "content": "found"},
    ]


def test_a_call_without_result_becomes_text() -> None:
    asked = {"role": "assistant", "content": "Look:", "tool_calls": [call("1"), call("2", "open")]}
    sent = wire(asked, result("1"), {"role": "user", "content": "y"})
    assert sent[0]["tool_calls"] == [call("1")]
    assert "open({})" in sent[0]["content"]
    assert sent[0]["content"].startswith("Look:")
    alone = wire(asked)
    assert "tool_calls" not in alone[0]
    assert "look({})" in alone[0]["content"]


def test_results_without_call_become_text() -> None:
    sent = wire(
        {"role": "user", "content": "x"},
        result("9", "early"),
        {"role": "assistant", "content": "b", "tool_calls": [call("1")]},
        result("1"),
        result("1", "twice"),
        result("3", "stranger"),
    )
    assert [each["role"] for each in sent] == [
        "user",
        "assistant",
        "assistant",
        "tool",
        "assistant",
    ]
    assert "early" in sent[1]["content"]
    assert "twice" in sent[4]["content"]
    assert "stranger" in sent[4]["content"]


def test_calls_of_older_rows() -> None:
    old = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"name": "f", "arguments": {"a": 1}}, 5],
    }
    assert 'f({"a": 1})' in wire(old)[0]["content"]
    with_id = {"role": "assistant", "tool_calls": [{"id": "1", "name": "f", "arguments": None}]}
    assert wire(with_id, result("1"))[0]["tool_calls"] == [call("1", "f")]


def test_neighbours_are_joined() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    assert wire(
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b", "observed": True},
        {"role": "user", "content": ""},
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "c"},
    ) == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "a\n\nb"}, image, {"type": "text", "text": "c"}],
        }
    ]


def test_parts_the_wire_does_not_know_are_told_as_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "audio", "text": "b"}, {"type": "file"}]
    assert wire({"role": "user", "content": parts})[0]["content"] == "a\nb"
    known = [{"type": "text", "text": "a"}]
    assert wire({"role": "user", "content": known})[0]["content"] == known


def test_the_history_is_not_changed() -> None:
    history = [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": "b"},
    ]
    before = json.dumps(history)
    wire_messages("", history)
    assert json.dumps(history) == before


ENTRIES = st.lists(
    st.one_of(
        st.builds(lambda text: {"role": "user", "content": text}, st.text()),
        st.builds(
            lambda text, ids: {
                "role": "assistant",
                "content": text,
                "tool_calls": [call(i) for i in ids],
            },
            st.one_of(st.none(), st.text()),
            st.lists(st.sampled_from("abc"), max_size=3, unique=True),
        ),
        st.builds(result, st.sampled_from("abcd"), st.text()),
    ),
    max_size=12,
)


@given(ENTRIES)
def test_calls_and_results_always_pair(history: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    for message in wire(*history):
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            continue
        assert not open_calls
        open_calls = [each["id"] for each in message.get("tool_calls", [])]
    assert not open_calls


@given(ENTRIES, st.text(min_size=1), st.text(min_size=1))
def test_a_longer_history_begins_like_the_shorter(
    before: list[dict[str, Any]], said: str, answered: str
) -> None:
    asked = [*before, {"role": "user", "content": said}]
    later = [
        *asked,
        {"role": "assistant", "content": answered},
        {"role": "user", "content": "more"},
    ]
    first, second = wire(*asked), wire(*later)
    assert second[: len(first)] == first


@pytest.mark.parametrize(
    "said",
    ['{"path": ', "[1]", "null", "5", '"text"', '{"a": NaN}', "{} {}", "\x00", "x" * 5_000_000],
)
def test_arguments_that_a_server_would_choke_on_are_told_as_an_object(said: str) -> None:
    _, answer, _ = wire(
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "", "tool_calls": [call("1", "f", said)]},
        result("1", "no valid JSON"),
    )
    (made,) = answer["tool_calls"]
    given = json.loads(made["function"]["arguments"])
    assert given == {"broken": said[:2000]}


@pytest.mark.parametrize("said", ["{}", '{ "a" :\n1e5}', '{"ä": "\\ud83d"}', '{"a":1,"a":2}'])
def test_arguments_that_are_whole_keep_their_bytes(said: str) -> None:
    _, answer, _ = wire(
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "", "tool_calls": [call("1", "f", said)]},
        result("1"),
    )
    assert answer["tool_calls"][0]["function"]["arguments"] == said


def test_nothing_said_is_an_empty_object_and_names_are_names() -> None:
    _, answer, _ = wire(
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "", "tool_calls": [call("1", "do it, " * 20, " ")]},
        result("1"),
    )
    function = answer["tool_calls"][0]["function"]
    assert function["arguments"] == "{}"
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", function["name"])


def test_thinking_that_was_stored_in_a_reply_is_not_sent() -> None:
    said = {"role": "assistant", "content": "<think>hm</think>\n\nHello `<think>`"}
    asked = {"role": "user", "content": "<think>typed</think> by a person"}
    assert wire(asked, said) == [asked, {"role": "assistant", "content": "Hello `<think>`"}]
