"""Calls and results in words."""

import json

import pytest

from hermes_desktop.state.records.records import Message
from hermes_desktop.ui.transcript.blocks.tool_calls import (
    arguments_text,
    duration_text,
    result_text,
    spoken,
    subject_of,
    succeeded,
    tool_calls_of,
)


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ('{"command": "ls -la"}', "ls -la"),
        ('{"limit": 3, "path": "/a/b.py"}', "/a/b.py"),
        ('{"url": "https://www.bahn.example/x"}', "bahn.example/x"),
        ('{"n": 5}', "5"),
        ("{}", ""),
        ("", ""),
        ("not json", "not json"),
        ('{"command": "line\\nbreak\\u202e"}', "line break⟨RLO⟩"),
        ('{"command": "cut off in the', "cut off in the"),
        ("[1, 2]", "[1, 2]"),
    ],
)
def test_subjects(arguments: str, subject: str) -> None:
    assert subject_of(arguments) == subject


def test_the_subject_of_huge_arguments_is_found_without_reading_them() -> None:
    assert subject_of(json.dumps({"path": "/x.py", "content": "y" * 500_000})) == "/x.py"


@pytest.mark.parametrize(
    ("result", "ok"),
    [
        ('{"output": "a", "exit_code": 0}', True),
        ('{"output": "a", "exit_code": 2}', False),
        ('{"error": "gone"}', False),
        ('{"error": null, "success": true}', True),
        ('{"success": false}', False),
        ("plain words", True),
        ("Error: no such file", False),
        ("", True),
        ('{"output": "' + "x" * 100_000 + '", "exit_code": 1}', False),
    ],
)
def test_whether_it_went_well(result: str, ok: bool) -> None:
    assert succeeded(result) is ok


def test_wrapped_results_show_their_output() -> None:
    assert result_text('{"output": "a\\nb\\n", "exit_code": 0}') == "a\nb"
    assert result_text('{"output": "", "exit_code": 0}') == "No output."
    assert result_text('{"output": "x", "error": "bad", "exit_code": 3}') == (
        "x\nError: bad\nExit code 3"
    )
    assert result_text('{"output": "\\u001b[31mred\\u001b[0m"}') == "red"
    assert result_text("as it is \x1b[1mbold\x1b[0m") == "as it is bold"
    assert result_text('[{"a": 1}]').startswith("[\n")
    assert result_text('{"broken') == '{"broken'


def test_arguments_are_laid_out() -> None:
    assert arguments_text('{"command": "ls\\npwd"}') == "ls\npwd"
    assert arguments_text('{"path": "/a", "limit": 3}') == "path: /a\nlimit: 3"
    assert arguments_text("raw") == "raw"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0.8, "0.8 s"), (9.94, "9.9 s"), (12.4, "12 s"), (185.0, "3 min 05 s")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration_text(seconds) == text


def test_both_stored_shapes_of_a_call() -> None:
    message = Message(
        1,
        "s",
        "assistant",
        "",
        10.0,
        tool_calls=(
            {"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}},
            {"name": "y", "arguments": {"path": "/p"}},
            {"id": None, "function": None},
        ),
    )
    names = [(call.name, call.subject) for call in tool_calls_of(message, ())]
    assert names == [("x", ""), ("y", "/p"), ("tool", "")]


def test_words_for_screen_readers() -> None:
    message = Message(
        1, "s", "assistant", "", 10.0,
        tool_calls=({"id": "a", "name": "terminal", "arguments": '{"command": "ls"}'},),
    )  # fmt: skip
    answer = Message(2, "s", "tool", '{"exit_code": 0}', 10.8, tool_call_id="a")
    (call,) = tool_calls_of(message, (answer,))
    assert spoken(call, "ok", "0.8 s") == "Tool terminal, ls, 0.8 s, succeeded"
    assert spoken(call, "running", "") == "Tool terminal, ls, is running"
