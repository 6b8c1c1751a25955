"""Conversion of a session's history into the messages an endpoint accepts.

Pure, and stable: the same history gives the same messages, and a longer history begins with those
of the shorter one, so that an endpoint can reuse what it has already read.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hermes_desktop.agent.types import ConversationMessage
from hermes_desktop.core.text.thinking_split import split_thinking
from hermes_desktop.state.records.content_codec import plain_text

WireMessage = dict[str, Any]

_PLAIN_ROLES = frozenset({"user", "system", "developer"})
_SENT_PARTS = frozenset({"text", "image_url"})
_GAP = "\n\n"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_MOST_BROKEN = 2000


def wire_messages(
    system_prompt: str, history: Iterable[ConversationMessage]
) -> tuple[WireMessage, ...]:
    """Compose the messages of a request.

    Only fields of the API are taken over (role, content, tool calls and their ids), and
    ``api_content`` in place of ``content``. A tool call without its result, and a result without
    its call, are sent as text, because endpoints refuse them and their content should not be lost.
    Adjacent messages of the user are joined.
    """
    entries = [entry for entry in history if entry.get("role") != "session_meta"]
    wire: list[WireMessage] = []
    if system_prompt:
        wire.append({"role": "system", "content": system_prompt})
    at = 0
    while at < len(entries):
        entry = entries[at]
        at += 1
        role = entry.get("role")
        if role in _PLAIN_ROLES:
            _add(wire, {"role": role, "content": _content(entry)})
        elif role == "assistant":
            end = at
            while end < len(entries) and entries[end].get("role") == "tool":
                end += 1
            _add_answer(wire, entry, entries[at:end])
            at = end
        elif role == "tool":
            _add(wire, {"role": "assistant", "content": _told_result(entry)})
    return tuple(wire)


def _add(wire: list[WireMessage], message: WireMessage) -> None:
    """Append, or join with the previous message when both are plain and of the same role."""
    if not message["content"] and "tool_calls" not in message:
        return
    last = wire[-1] if wire else None
    joinable = (
        last is not None
        and last["role"] == message["role"]
        and message["role"] in {"user", "assistant"}
        and "tool_calls" not in last
        and "tool_calls" not in message
    )
    if last is not None and joinable:
        last["content"] = _joined(last["content"], message["content"])
    else:
        wire.append(message)


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return first + _GAP + second
    return [*_as_parts(first), *_as_parts(second)]


def _as_parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _add_answer(
    wire: list[WireMessage], entry: ConversationMessage, results: Sequence[ConversationMessage]
) -> None:
    """Add an assistant's message, with its calls that have a result, and the results."""
    calls = _calls(entry.get("tool_calls"))
    answers: dict[str, ConversationMessage] = {}
    orphans: list[ConversationMessage] = []
    known = {call["id"] for call in calls if call["id"]}
    for result in results:
        call_id = str(result.get("tool_call_id") or "")
        if call_id in known and call_id not in answers:
            answers[call_id] = result
        else:
            orphans.append(result)
    kept = [call for call in calls if call["id"] in answers]
    text = [_told_call(call) for call in calls if call["id"] not in answers]
    content = _content(entry)
    if text:
        content = _joined(content, _GAP.join(text)) if content else _GAP.join(text)
    if kept:
        _add(wire, {"role": "assistant", "content": content or None, "tool_calls": kept})
        wire.extend(
            {"role": "tool", "tool_call_id": call["id"], "content": _flat(answers[call["id"]])}
            for call in kept
        )
    else:
        _add(wire, {"role": "assistant", "content": content})
    for result in orphans:
        _add(wire, {"role": "assistant", "content": _told_result(result)})


def _calls(stored: Any) -> list[dict[str, Any]]:
    """Return calls in the API's format; older rows have name and arguments on the top level."""
    calls: list[dict[str, Any]] = []
    for call in stored if isinstance(stored, list | tuple) else ():
        if not isinstance(call, Mapping):
            continue
        function = call.get("function")
        inner = function if isinstance(function, Mapping) else call
        name = _NOT_IN_NAMES.sub("_", str(inner.get("name") or "unknown"))[:_LONGEST_NAME]
        calls.append(
            {
                "id": str(call.get("id") or ""),
                "type": "function",
                "function": {"name": name, "arguments": _arguments(inner.get("arguments"))},
            }
        )
    return calls


def _arguments(stored: Any) -> str:
    """Return arguments every endpoint accepts: a JSON object, in the bytes in which it was stored.

    A model's arguments may be broken. Many servers parse them, and would refuse the whole
    conversation for it, now and in every later request.
    """
    if not isinstance(stored, str):
        stored = json.dumps(stored if stored is not None else {}, ensure_ascii=False)
    if not stored.strip():
        return "{}"
    try:
        whole = isinstance(json.loads(stored, parse_constant=_no_number), dict)
    except (ValueError, RecursionError):
        whole = False
    return stored if whole else json.dumps({"broken": stored[:_MOST_BROKEN]}, ensure_ascii=False)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _told_call(call: Mapping[str, Any]) -> str:
    function = call["function"]
    return f"[Called {function['name']}({function['arguments']}); no result is recorded.]"


def _told_result(entry: ConversationMessage) -> str:
    name = entry.get("tool_name") or entry.get("name") or "a tool"
    return f"[Result of {name}, its call is not recorded: {_flat(entry)}]"


def _flat(entry: ConversationMessage) -> str:
    content = _content(entry)
    return content if isinstance(content, str) else plain_text(content)


def _content(entry: ConversationMessage) -> Any:
    """Return text, or the list of parts if the API supports each of them; else its text.

    Thinking that an earlier version, or another program, stored as part of a reply is removed.
    """
    sent = entry.get("api_content")
    if isinstance(sent, str) and sent:
        return sent
    content = entry.get("content")
    if entry.get("role") == "assistant" and isinstance(content, str):
        return split_thinking(content)[0]
    if isinstance(content, list) and content and all(_is_sent(part) for part in content):
        return content
    return plain_text(content)


def _is_sent(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") in _SENT_PARTS
