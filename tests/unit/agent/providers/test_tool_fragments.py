"""Tool calls, put together from streams that are cut anywhere."""

import itertools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_desktop.agent.providers.answer import SseParser
from hermes_desktop.agent.providers.completion import MOST_CALLS, CompletionReader, ToolFragments
from hermes_desktop.agent.types import ToolCallAnnounced

PIECES: list[dict[str, Any]] = [
    {
        "tool_calls": [
            {
                "index": 0,
                "id": "a",
                "type": "function",
                "function": {"name": "read_file", "arguments": ""},
            }
        ]
    },
    {"tool_calls": [{"index": 0, "function": {"arguments": '{"pa'}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": 'th": "ä€😀'}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '.txt"}'}}]},
    {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "todo", "arguments": "{}"}}]},
]


def stream() -> bytes:
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": each}]} for each in PIECES]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return b"".join(
        b"data: " + json.dumps(e, ensure_ascii=False).encode() + b"\n\n" for e in chunks
    )


@settings(max_examples=150, deadline=None)
@given(st.sets(st.integers(0, len(stream()))))
def test_cut_at_any_byte(cuts: set[int]) -> None:
    data, parser, reader = stream(), SseParser(), CompletionReader()
    ends = [0, *sorted(cuts), len(data)]
    begun: list[object] = []
    for start, end in itertools.pairwise(ends):
        for event in parser.feed(data[start:end]):
            begun += reader.take(event)
    assert begun == [ToolCallAnnounced("read_file"), ToolCallAnnounced("todo")]
    (*_, finished) = reader.ending()
    assert finished.finish_reason == "tool_calls"
    assert [(c.id, c.name, c.arguments) for c in finished.tool_calls] == [
        ("a", "read_file", '{"path": "ä€😀.txt"}'),
        ("b", "todo", "{}"),
    ]


def test_a_whole_answer() -> None:
    call = {"id": "x", "type": "function", "function": {"name": "todo", "arguments": {"a": 1}}}
    message = {"content": None, "tool_calls": [call, call]}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    reader = CompletionReader()
    finished = list(reader.take_whole(body.encode()))[-1]
    first, second = finished.tool_calls  # type: ignore[union-attr]
    assert (first.id, first.name, json.loads(first.arguments)) == ("x", "todo", {"a": 1})
    assert second.id not in {"", "x"}


def fragments(*pieces: dict[str, Any]) -> list[tuple[str, str, str]]:
    gathered = ToolFragments()
    for piece in pieces:
        gathered.take([piece])
    return [(call.id, call.name, call.arguments) for call in gathered.calls()]


def test_a_used_index_with_another_id_is_another_call() -> None:
    one = {"index": 0, "id": "a", "function": {"name": "x", "arguments": "1"}}
    two = {"index": 0, "id": "b", "function": {"name": "y", "arguments": "2"}}
    more = {"index": 0, "function": {"arguments": "3"}}
    assert fragments(one, two, more) == [("a", "x", "1"), ("b", "y", "23")]


def test_without_an_index_the_latest_goes_on() -> None:
    one = {"id": "a", "function": {"name": "x", "arguments": "{"}}
    assert fragments(one, {"function": {"name": "x", "arguments": "}"}}) == [("a", "x", "{}")]


def test_nonsense_is_passed_over_and_bounded() -> None:
    gathered = ToolFragments()
    for nonsense in (None, 3, "x", [1, None, "a"], [{"function": 3}], {"a": 1}):
        gathered.take(nonsense)
    for number in range(MOST_CALLS * 2):
        gathered.take([{"index": number + 5, "id": str(number), "function": {"name": "x"}}])
    assert len(gathered.calls()) <= MOST_CALLS
