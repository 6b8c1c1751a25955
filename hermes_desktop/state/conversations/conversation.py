"""A session's messages in the model's format: plain dicts without empty fields.

Crashes, cancelled turns and other writers leave two user messages in a row, partial replies, and
results of calls that were never made. Most endpoints refuse such a history, and with it every later
message; :func:`repaired` returns one that they accept.
"""

import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from hermes_desktop.core.text.thinking_split import split_thinking
from hermes_desktop.state.conversations.messages_table import JSON_COLUMNS
from hermes_desktop.state.records.content_codec import decode_content, decode_json

_MEMORY_BLOCK = re.compile(r"<memory-context>.*?</memory-context>", re.DOTALL | re.IGNORECASE)
_MEMORY_TAG = re.compile(r"</?memory-context>", re.IGNORECASE)
_OPTIONAL = ("api_content", "timestamp", "tool_call_id", "tool_name", "effect_disposition")
_ASSISTANT_TEXT = ("finish_reason", "reasoning")


def conversation(
    rows: Iterable[sqlite3.Row], *, drop_replayed: bool = False
) -> list[dict[str, Any]]:
    """Convert rows, in order, to messages.

    Args:
        rows: Rows with all columns.
        drop_replayed: Leave out a user message with which an ancestor session already ended.
    """
    messages: list[dict[str, Any]] = []
    after_review = False
    for row in rows:
        message = _message(row)
        reviewed, after_review = after_review, _is_review(message)
        if after_review or (reviewed and message["role"] == "assistant"):
            continue
        if not (drop_replayed and _is_replayed(messages, message)):
            messages.append(message)
    return messages


_REVIEWS = (
    "Review the conversation above and consider saving to memory",
    "Review the conversation above and update the skill library",
)
"""Prompts with which older releases, as the user, asked the model for a review; not user input."""


def _is_review(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return message["role"] == "user" and isinstance(content, str) and content.startswith(_REVIEWS)


def _message(row: sqlite3.Row) -> dict[str, Any]:
    content = decode_content(row["content"])
    if row["role"] in {"user", "assistant"} and isinstance(content, str):
        content = without_memory(content)
        if row["role"] == "assistant":
            content = split_thinking(content)[0]
    message: dict[str, Any] = {"role": row["role"], "content": content}
    message.update({name: row[name] for name in _OPTIONAL if row[name]})
    calls = decode_json(row["tool_calls"])
    if calls:
        message["tool_calls"] = calls
    if row["platform_message_id"]:
        message["message_id"] = row["platform_message_id"]
    if row["observed"]:
        message["observed"] = True
    if row["role"] == "assistant":
        message.update(_assistant_fields(row))
    return message


def _assistant_fields(row: sqlite3.Row) -> dict[str, Any]:
    fields = {name: row[name] for name in _ASSISTANT_TEXT if row[name]}
    if row["reasoning_content"] is not None:  # some endpoints require it even when it is empty
        fields["reasoning_content"] = row["reasoning_content"]
    for name in JSON_COLUMNS:
        value = decode_json(row[name])
        if value:
            fields[name] = value
    return fields


def without_memory(text: str) -> str:
    """Return a text without the memory block that was added to it for one request."""
    if "memory-context" in text.lower():
        text = _MEMORY_TAG.sub("", _MEMORY_BLOCK.sub("", text))
    return text.strip()


def _is_replayed(before: list[dict[str, Any]], message: dict[str, Any]) -> bool:
    """Return whether this user message repeats the last one, as rotations of older releases did."""
    if message["role"] != "user" or not isinstance(message["content"], str):
        return False
    for earlier in reversed(before):
        if earlier["role"] == "user":
            return bool(earlier["content"] == message["content"])
        if earlier["role"] == "assistant":
            return False
    return False


Message = dict[str, Any]

_FILLED_REPLY = ("reasoning", "reasoning_content", "reasoning_details", "codex_reasoning_items")
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
    for name in (*_FILLED_REPLY, *_FILLED_TOO):
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
