import json
from typing import Any

import pytest

from hermes_desktop.agent.providers.completion import (
    CompletionReader,
    EndpointError,
    NotACompletionError,
    ServerEvent,
    encode_json,
)
from hermes_desktop.agent.types import Finished, ReasoningDelta, StreamEvent, TextDelta


def take(reader: CompletionReader, payload: Any, event: str = "") -> list[StreamEvent]:
    data = payload if isinstance(payload, str) else json.dumps(payload)
    return list(reader.take(ServerEvent(data, event)))


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields}]}


def test_text_and_reasoning_under_either_name() -> None:
    reader = CompletionReader()
    assert take(reader, delta(reasoning_content="a")) == [ReasoningDelta("a")]
    assert take(reader, delta(reasoning="b", content="c")) == [ReasoningDelta("b"), TextDelta("c")]
    assert take(reader, delta(reasoning="b", reasoning_content="b")) == [ReasoningDelta("b")]


def test_nulls_and_parts_and_refusals() -> None:
    reader = CompletionReader()
    assert take(reader, delta(content=None, role="assistant")) == []
    assert take(reader, delta(content=[{"type": "text", "text": "x"}])) == [TextDelta("x")]
    assert take(reader, delta(refusal="no")) == [TextDelta("no")]
    assert take(reader, {"choices": None}) == []
    assert take(reader, {"choices": [{"index": 1, "delta": {"content": "other"}}]}) == []


def test_end_marks_and_usage() -> None:
    reader = CompletionReader()
    assert not reader.complete
    take(reader, {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
    assert reader.complete
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 5},
    }
    take(reader, {"choices": [], "usage": usage})
    take(reader, {"choices": [], "usage": None})
    take(reader, "[DONE]")
    assert reader.done
    assert list(reader.ending()) == [Finished("length", 9, 4, 5)]


def test_usage_that_is_nonsense_counts_as_none() -> None:
    reader = CompletionReader()
    take(
        reader,
        {"usage": {"prompt_tokens": "9", "completion_tokens": -4, "prompt_tokens_details": 1}},
    )
    assert list(reader.ending()) == [Finished("stop")]
    take(reader, '{"usage": {"prompt_tokens": 1e999, "completion_tokens": 99999999999999999999}}')
    assert list(reader.ending()) == [Finished("stop")]


def test_events_joined_by_a_missing_blank_line() -> None:
    reader = CompletionReader()
    joined = json.dumps(delta(content="a")) + "\n" + json.dumps(delta(content="b")) + "\n[DONE]"
    assert take(reader, joined) == [TextDelta("a"), TextDelta("b")]
    assert reader.done


def test_errors_inside() -> None:
    with pytest.raises(EndpointError):
        take(CompletionReader(), {"error": {"message": "no"}})


@pytest.mark.parametrize(
    "data", ['{"choices": [{"delta"', '{"content": "x', '{"choices":' + "[" * 9999]
)
def test_a_damaged_piece_is_not_passed_over(data: str) -> None:
    with pytest.raises(NotACompletionError):
        take(CompletionReader(), data)


@pytest.mark.parametrize(
    "data", ["{", "[1]", '"x"', "null", "3", "", "PROCESSING", '{"choices": 3}', '{"choices": [1]}']
)
def test_what_is_no_piece_is_passed_over(data: str) -> None:
    reader = CompletionReader()
    assert take(reader, data) == []
    assert take(reader, delta(content="a")) == [TextDelta("a")]


def test_a_whole_answer() -> None:
    message = {"role": "assistant", "content": "hi", "reasoning": "hm"}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    events = list(CompletionReader().take_whole(body))
    assert events == [ReasoningDelta("hm"), TextDelta("hi"), Finished("stop")]
    with pytest.raises(NotACompletionError):
        list(CompletionReader().take_whole(b'{"hello": 1}'))


def test_json_is_utf8_whatever_is_in_it() -> None:
    assert encode_json({"a": "é🙂"}) == '{"a":"é🙂"}'.encode()
    assert json.loads(encode_json(["\ud83d", "\udc00x"])) == ["\ufffd", "\ufffdx"]
    assert json.loads(encode_json("\ud83d\ude42")) == "🙂"
