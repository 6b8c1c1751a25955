"""Extraction of the content of a choice's message, whichever fields hold it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.agent.providers.tolerances import (
    MEDIA,
    MESSAGE_FIELDS,
    TEXT_FIELDS,
    THINKING_FIELDS,
)
from hermes_desktop.state.records.content_codec import clean_text

_MESSAGES = tuple(each.name for each in MESSAGE_FIELDS)
_THINKING = tuple(each.name for each in THINKING_FIELDS)
_TEXT = tuple(each.name for each in TEXT_FIELDS)
_MEDIA = frozenset(each.name for each in MEDIA)
_DEEPEST = 4
_THOUGHT_PARTS = frozenset({"thinking", "reasoning", "reasoning.text", "reasoning.summary"})


@dataclass(slots=True)
class MessageParts:
    """The text of a message, and the kinds of content that cannot be shown.

    Attributes:
        text: Text of the reply.
        thinking: Text of the thinking.
        media: Kinds of content that cannot be shown, one entry each.
        tool_calls: Pieces of calls, as sent.
    """

    text: str = ""
    thinking: str = ""
    media: list[str] = field(default_factory=list)
    tool_calls: Any = None


def message_in(choice: Mapping[str, Any], first: str) -> Mapping[str, Any]:
    """Return the message of a choice: in the expected field, another one, or the choice itself."""
    for name in (first, *_MESSAGES):
        found = choice.get(name)
        if isinstance(found, Mapping) and found:
            return found
    return choice


def parts_of(message: Mapping[str, Any]) -> MessageParts:
    """Read a message, or a piece of one."""
    parts = MessageParts(tool_calls=message.get("tool_calls"))
    function = message.get("function_call")
    if parts.tool_calls is None and isinstance(function, Mapping):
        # The format of 2023, still sent by some gateways.
        parts.tool_calls = [{"index": 0, "function": function}]
    for name in _TEXT:
        _read_content(message.get(name), parts)
        if parts.text:
            break
    for name in _THINKING:
        if parts.thinking:
            break
        parts.thinking = _words(message.get(name), _DEEPEST)
    for name in _MEDIA:
        _read_media(name, message.get(name), parts)
    return parts


def _read_content(content: Any, parts: MessageParts) -> None:
    """Read text, or a list of parts of several kinds."""
    if isinstance(content, str):
        parts.text += content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            parts.text += part
        if not isinstance(part, Mapping):
            continue
        kind = part.get("type")
        if kind in _THOUGHT_PARTS:
            parts.thinking += _words(part, _DEEPEST)
        elif isinstance(kind, str) and kind in _MEDIA:
            _read_media(kind, part.get(kind) or part, parts)
        else:
            parts.text += _words(part.get("text"), _DEEPEST) or _words(part.get("refusal"), 1)


def _read_media(name: str, found: Any, parts: MessageParts) -> None:
    if name.endswith("audio") and isinstance(found, Mapping):
        transcript = found.get("transcript")
        if isinstance(transcript, str) and transcript:
            parts.text += transcript
        elif found.get("data"):
            parts.media.append("sound")
        return
    kind = "video" if name.startswith("video") else "picture"
    if isinstance(found, list):
        parts.media += [kind] * len(found)
    elif found:
        parts.media.append(kind)


def _words(value: Any, deep: int) -> str:
    """Return the whole text of a text, a part, or a list of parts."""
    if isinstance(value, str):
        return value
    if deep <= 0:
        return ""
    if isinstance(value, list):
        return "".join(_words(each, deep - 1) for each in value)
    if isinstance(value, Mapping):
        for name in ("text", "thinking", "summary", "reasoning", "content"):
            found = _words(value.get(name), deep - 1)
            if found:
                return found
    return ""


def media_placeholder(kinds: list[str]) -> str:
    """Return the placeholder for content that cannot be shown; "" for none."""
    told = []
    for kind in dict.fromkeys(kinds):
        count = kinds.count(kind)
        if kind == "sound":
            told.append("sound")
        else:
            told.append(f"a {kind}" if count == 1 else f"{count} {kind}s")
    if not told:
        return ""
    return f"[The model sent {' and '.join(told)}, which cannot be shown here.]"


class PairJoiner:
    """A joiner of the two halves of a character that arrived in two pieces of JSON."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Return the text that is complete by now; a half without its other half becomes U+FFFD."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return clean_text(text[: len(text) - len(self._half)])

    def end(self) -> str:
        """Return the replacement of a half that has no other half."""
        half, self._half = self._half, ""
        return clean_text(half)
