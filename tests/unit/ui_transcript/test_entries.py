"""Rows become entries: calls joined with results, separators where something changes."""

from dataclasses import replace
from datetime import datetime

from hermes_desktop.state.records.records import Message
from hermes_desktop.ui.transcript.entries import (
    MessageEntry,
    Separator,
    build_entries,
    local_time,
)

NOON = datetime.fromisoformat("2026-05-04T12:00").timestamp()


def row(number: int, role: str = "user", content: str = "text", **fields) -> Message:
    return Message(number, fields.pop("session_id", "s"), role, content, NOON + number, **fields)


def calls(*names: str) -> tuple[dict[str, object], ...]:
    return tuple(
        {"id": name, "function": {"name": name, "arguments": '{"command": "ls"}'}} for name in names
    )


def shown(messages: list[Message]) -> list[str]:
    return [
        entry.kind if isinstance(entry, Separator) else f"{entry.message.role} {entry.message.id}"
        for entry in build_entries(messages)
    ]


def test_results_stand_with_their_call() -> None:
    entries = build_entries(
        [
            row(1),
            row(2, "assistant", "", tool_calls=calls("a", "b")),
            row(3, "tool", '{"output": "x", "exit_code": 0}', tool_call_id="a", tool_name="a"),
            row(5, "tool", '{"error": "no", "exit_code": 2}', tool_call_id="b", tool_name="b"),
        ]
    )
    assert len(entries) == 3  # the day, the prompt, the reply with both results
    reply = entries[-1]
    assert isinstance(reply, MessageEntry)
    first, second = reply.calls
    assert (first.ok, first.seconds) == (True, 1.0)
    assert (second.ok, second.seconds) == (False, 2.0)


def test_a_result_without_its_call_stands_alone() -> None:
    entries = build_entries([row(7, "tool", "fine", tool_call_id="gone", tool_name="terminal")])
    (call,) = entries[-1].calls  # type: ignore[union-attr]
    assert (call.name, call.result) == ("terminal", "fine")


def test_hidden_and_empty_rows_are_not_shown() -> None:
    assert shown([row(1), row(2, "session_meta", ""), row(3, "assistant", "  ")]) == [
        "day",
        "user 1",
    ]


def test_separators_of_days_parts_and_summaries() -> None:
    old = replace(row(1), compacted=True, active=False)
    older_day = replace(row(2), timestamp=NOON + 86_400, compacted=True, active=False)
    after = replace(row(3), timestamp=NOON + 86_401)
    tip = replace(row(4), session_id="tip", timestamp=NOON + 86_402)
    assert shown([old, older_day, after, tip]) == [
        "day",
        "summarised",
        "user 1",
        "day",
        "user 2",
        "user 3",
        "part",
        "user 4",
    ]


def test_the_header_stands_once_over_a_run_of_the_same_author() -> None:
    entries = [
        entry
        for entry in build_entries(
            [
                row(1),
                row(2, "assistant", "a", tool_calls=calls("x")),
                row(3, "tool", "r", tool_call_id="x"),
                row(4, "assistant", "b"),
                row(5),
            ]
        )
        if isinstance(entry, MessageEntry)
    ]
    assert [(entry.message.id, entry.header) for entry in entries] == [
        (1, True),
        (2, True),
        (4, False),
        (5, True),
    ]


def test_equal_rows_give_equal_entries() -> None:
    messages = [row(1), row(2, "assistant", "a", tool_calls=calls("x"))]
    again = [replace(message) for message in messages]
    assert build_entries(messages) == build_entries(again)


def test_times_that_no_calendar_has() -> None:
    assert local_time(1e30) is None
    assert local_time(float("nan")) is None
    assert shown([replace(row(1), timestamp=1e30)]) == ["user 1"]


def test_pictures_are_counted() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}]
    entry = build_entries([row(1, parts=parts)])[-1]
    assert isinstance(entry, MessageEntry)
    assert entry.images == 1
