"""Tool calls and their results as display text. No Qt."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.text.stored_text import split_hints
from hermes_desktop.core.user_requests import QUESTION_TOOL
from hermes_desktop.state.records.records import Message
from hermes_desktop.ui.words.visible_text import one_line, visible, without_terminal_colours

_LARGE_ARGUMENTS = 20_000
_LARGE_RESULT = 400_000
_TELLING_KEYS = (
    "command", "cmd", "code", "path", "file_path", "filename", "url", "what", "query", "pattern",
    "question", "prompt", "task", "goal", "name", "title", "text", "content",
)  # fmt: skip
_EXIT_CODE = re.compile(r'"exit_code"\s*:\s*(-?\d+)')
_FAILED = re.compile(r'"(?:success|ok)"\s*:\s*false|"error"\s*:\s*"[^"]')
_FIRST_STRING = re.compile(r'"\w+"\s*:\s*"((?:[^"\\]|\\.){1,200})')
_TROUBLES = (
    ("no answer", re.compile(r"^Nobody answered in time")),
    ("no one to ask", re.compile(r"nobody can be asked", re.IGNORECASE)),
    ("denied", re.compile(r"\bdenied (it|this|that)\b|\buser denied\b", re.IGNORECASE)),
    ("stopped", re.compile(r"^The (user|person) stopped (this|the turn)\b")),
)
"""Short text for errors caused by a decision of the user, in whichever program."""
_LONGEST_WHY = 48
_SHORTEST_SHOWN_S = 0.05
_LONGEST_SHOWN_S = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One collapsible line of the transcript.

    Attributes:
        name: The tool's name, visible characters only.
        subject: What the call is about, one line; "" if the arguments do not show it.
        arguments: As stored: usually the text of a JSON object.
        result: The result's text as stored, None while there is none.
        ok: Whether it succeeded as far as the result shows; None without a result.
        seconds: How long it took as far as the rows show, None if they do not.
        why: Why it failed, in a few words; "" if unknown.
    """

    call_id: str
    name: str
    subject: str
    arguments: str
    result: str | None = None
    ok: bool | None = None
    seconds: float | None = None
    why: str = ""


def tool_calls_of(message: Message, results: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Join the calls of an assistant's message with the rows of their results.

    Args:
        message: The message with ``tool_calls``.
        results: Rows of role ``tool``, in their order; rows of other calls are ignored.
    """
    answers = {row.tool_call_id: row for row in results if row.tool_call_id}
    calls: list[ToolCall] = []
    before = message.timestamp
    for call in message.tool_calls:
        name, arguments, call_id = _read_call(call)
        row = answers.get(call_id)
        calls.append(_join(call_id, name, arguments, row, before))
        before = row.timestamp if row is not None else before
    return tuple(calls)


def call_of_orphan(row: Message) -> ToolCall:
    """Return a call for a result whose call is not among the loaded messages."""
    name = row.tool_name or "tool"
    return _join(row.tool_call_id or "", name, "", row, row.timestamp)


def ids_of(message: Message) -> tuple[str, ...]:
    """Return the ids of the calls that a message made."""
    return tuple(_read_call(call)[2] for call in message.tool_calls)


def results_of_calls(messages: Iterable[Message]) -> dict[int, list[Message]]:
    """Map the id of each message to the rows with the results of its calls.

    Some models number their calls from the same first id in each message, so a result belongs to
    the last message before it that made a call with its id.
    """
    last_caller: dict[str, int] = {}
    results: dict[int, list[Message]] = {}
    for message in messages:
        for call_id in ids_of(message):
            last_caller[call_id] = message.id
        if message.role == "tool" and message.tool_call_id in last_caller:
            results.setdefault(last_caller[message.tool_call_id], []).append(message)
    return results


def arguments_text(arguments: str) -> str:
    """Format the arguments for display; a single argument is shown without its name."""
    decoded = _decode(arguments, _LARGE_RESULT)
    if not isinstance(decoded, dict):
        return arguments
    if len(decoded) == 1:
        return _value_text(next(iter(decoded.values())))
    return "\n".join(f"{key}: {_value_text(value)}" for key, value in decoded.items())


def result_text(result: str) -> str:
    """Format the result for display; a wrapped result is unwrapped to its output.

    Text that the user sent while the tool ran, which the model received with the result, is
    appended.
    """
    own, said = split_hints(result)
    text = _own_text(own)
    return f"{text}\n\nYou said in the meantime: {said}" if said else text


def _own_text(result: str) -> str:
    decoded = _decode(result, _LARGE_RESULT)
    if isinstance(decoded, dict):
        return without_terminal_colours(_wrapped(decoded))
    if isinstance(decoded, list):
        return _value_text(decoded)
    return without_terminal_colours(result)


def _wrapped(decoded: Mapping[str, Any]) -> str:
    lines: list[str] = []
    rest = dict(decoded)
    output = rest.pop("output", None)
    code = rest.pop("exit_code", None)
    error = rest.pop("error", None)
    if isinstance(output, str):
        lines.append(output.rstrip("\n"))
    elif output is not None:
        lines.append(_value_text(output))
    if error:
        lines.append(f"Error: {_value_text(error)}")
    lines += [f"{key}: {_value_text(value)}" for key, value in rest.items() if value is not None]
    if code not in {None, 0}:
        lines.append(f"Exit code {code}")
    text = "\n".join(line for line in lines if line)
    return text or ("No output." if code == 0 else "")


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _read_call(call: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return name, arguments and id of a call in either stored shape."""
    function = call.get("function")
    inner: Mapping[str, Any] = function if isinstance(function, Mapping) else call
    arguments = inner.get("arguments", "")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return str(inner.get("name") or "tool"), text, str(call.get("id") or "")


def _join(call_id: str, name: str, arguments: str, row: Message | None, before: float) -> ToolCall:
    subject = subject_of(arguments)
    shown = one_line(name, 60)
    if row is None:
        return ToolCall(call_id, shown, subject, arguments)
    seconds = row.timestamp - before
    # The time of a question is the user's own.
    known = shown != QUESTION_TOOL and _SHORTEST_SHOWN_S <= seconds <= _LONGEST_SHOWN_S
    ok = succeeded(row.content)
    return ToolCall(
        call_id, shown, subject, arguments, row.content, ok, seconds if known else None,
        "" if ok else failure_reason(row.content),
    )  # fmt: skip


def succeeded(result: str) -> bool:
    """Return whether a result reports success. Only its ends are checked, to keep this cheap."""
    result, _ = split_hints(result)
    if not result.lstrip().startswith("{"):
        return not result.lstrip()[:6].lower().startswith("error")
    ends = result if len(result) < 1_200 else f"{result[:600]} {result[-600:]}"  # noqa: PLR2004
    codes = _EXIT_CODE.findall(ends)
    return all(int(code) == 0 for code in codes) and not _FAILED.search(ends)


def failure_reason(result: str) -> str:
    """Return why a call failed, in a few words."""
    decoded = _decode(result, _LARGE_RESULT)
    if not isinstance(decoded, dict):
        return ""
    error, code = decoded.get("error"), decoded.get("exit_code")
    if isinstance(error, str) and error.strip():
        known = (words for words, sign in _TROUBLES if sign.search(error))
        return next(known, one_line(error, _LONGEST_WHY).rstrip("."))
    return f"exit code {code}" if isinstance(code, int) and code else ""


def subject_of(arguments: str) -> str:
    """Return what a call is about, as one line."""
    decoded = _decode(arguments, _LARGE_ARGUMENTS)
    if isinstance(decoded, dict):
        telling = [decoded[key] for key in _TELLING_KEYS if isinstance(decoded.get(key), str)]
        others = [value for value in decoded.values() if isinstance(value, str | int | float)]
        found = next((str(value) for value in [*telling, *others] if str(value).strip()), "")
    elif decoded is None and arguments.lstrip().startswith("{"):
        match = _FIRST_STRING.search(arguments, 0, 2_000)
        found = match[1] if match else ""
    else:
        found = arguments
    return one_line(re.sub(r"^https?://(?:www\.)?", "", found.strip()), 90)


def _decode(text: str, limit: int) -> Any:
    if len(text) > limit or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def duration_text(seconds: float | None) -> str:
    """Return ``0.8 s``, ``12 s``, ``3 min 05 s``; "" if it is unknown or too short to show."""
    if seconds is None or seconds < _SHORTEST_SHOWN_S:
        return ""
    if seconds < 9.95:  # noqa: PLR2004 - where rounding would show 10.0
        return f"{seconds:.1f} s"
    if seconds < 90:  # noqa: PLR2004
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


_SPOKEN = {
    "ok": "succeeded",
    "failed": "failed",
    "running": "is running",
    "asked": "waiting for your answer",
    "": "without a result",
}


def spoken(call: ToolCall, mark: str, time: str) -> str:
    """Return the line's text for screen readers.

    Args:
        call: The call.
        mark: Its state, as on the line.
        time: How long it took, or has been running.
    """
    parts = ["Tool " + call.name, call.subject, time, _SPOKEN[mark], call.why]
    return visible(", ".join(part for part in parts if part))
