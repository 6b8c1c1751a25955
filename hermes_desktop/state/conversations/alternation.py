"""Repair of conversations to the alternation of user and assistant messages that endpoints require.

Crashes, cancelled turns and other writers leave two user messages in a row, partial replies, and
results of calls that were never made. Most endpoints refuse such a history, and with it every later
message.
"""

from collections.abc import Iterable
from typing import Any

Message = dict[str, Any]

_FILLED = ("reasoning", "reasoning_content", "reasoning_details", "codex_reasoning_items")
_FILLED_TOO = ("codex_message_items", "finish_reason")


def repaired(messages: Iterable[Message]) -> list[Message]:
    """Return the conversation without results of unknown calls, neighbors of one role merged.

    The given messages are not modified.
    """
    kept: list[Message] = []
    open_calls: set[str] = set()
    for message in messages:
        role = message["role"]
        if role == "tool":
            call = message.get("tool_call_id")
            if call not in open_calls:
                continue
            open_calls.discard(call)
        elif role == "assistant":
            before = kept[-1]["role"] if kept else None
            fresh = _call_ids(message)
            open_calls = open_calls | fresh if before == "assistant" else fresh
        else:
            open_calls = set()
        joined = _joined(kept[-1], message) if kept else None
        if joined is None:
            kept.append(message)
        else:
            kept[-1] = joined
    return kept


def _call_ids(message: Message) -> set[str]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return set()
    return {call["id"] for call in calls if isinstance(call, dict) and call.get("id")}


def _joined(first: Message, second: Message) -> Message | None:
    if first["role"] != second["role"]:
        return None
    if first["role"] == "user":
        return _joined_questions(first, second)
    return _joined_answers(first, second) if first["role"] == "assistant" else None


def _joined_questions(first: Message, second: Message) -> Message | None:
    texts = (first["content"], second["content"])
    if not all(isinstance(text, str) for text in texts):
        return None
    joined = {**first, "content": "\n\n".join(text for text in texts if text)}
    joined.pop("api_content", None)  # it was the text of one of the two
    return joined


def _joined_answers(first: Message, second: Message) -> Message:
    joined = {**first, "content": _joined_content(first["content"], second["content"])}
    joined.pop("api_content", None)
    calls = [*(first.get("tool_calls") or ()), *(second.get("tool_calls") or ())]
    if calls:
        joined["tool_calls"] = calls
    for name in (*_FILLED, *_FILLED_TOO):
        if not joined.get(name) and second.get(name):
            joined[name] = second[name]
    return joined


def _joined_content(first: Any, second: Any) -> Any:
    if isinstance(first, list) or isinstance(second, list):
        return [*_parts(first), *_parts(second)]
    texts = [str(text) for text in (first, second) if text]
    return "\n".join(texts) if texts else first


def _parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": str(content)}] if content else []
