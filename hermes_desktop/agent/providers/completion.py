"""What a chat-completions endpoint says, decoded: chunks of a stream and whole answers."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.agent.providers.tool_fragments import ToolFragments
from hermes_desktop.agent.types import (
    CallBegun,
    Finished,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
)
from hermes_desktop.state.content_codec import clean_text

DONE = "[DONE]"
_MOST_TOKENS = 10**12
_MOST_USD = 10**6

Piece = TextDelta | ReasoningDelta | CallBegun


def encode_json(value: Any) -> bytes:
    """Compact JSON in UTF-8; halves of surrogate pairs become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return clean_text(text).encode()


class EndpointError(Exception):
    """The answer carries an error where a reply was due.

    Attributes:
        payload: The decoded answer that held it.
    """

    def __init__(self, payload: Mapping[str, Any]) -> None:
        super().__init__("the answer carries an error")
        self.payload = payload


class NotACompletionError(ValueError):
    """The answer is not what a chat-completions endpoint sends."""


@dataclass(slots=True)
class CompletionReader:
    """Gathers what the chunks of one reply say.

    Attributes:
        done: The end mark of the stream came.
        finish_reason: As the endpoint said it, None until then.
    """

    done: bool = False
    finish_reason: str | None = None
    _usage: Mapping[str, Any] = field(default_factory=dict)
    _tools: ToolFragments = field(default_factory=ToolFragments)

    @property
    def complete(self) -> bool:
        """Whether the endpoint said that the reply is over."""
        return self.done or self.finish_reason is not None

    def take(self, data: str) -> Iterator[Piece]:
        """Decode the data of one event.

        Raises:
            EndpointError: It holds an error.
            NotACompletionError: It is no chunk of a reply.
        """
        for payload in self._payloads(data):
            yield from self._take_payload(payload, "delta")

    def take_whole(self, body: bytes) -> Iterator[StreamEvent]:
        """Decode an answer that came in one piece.

        Raises:
            EndpointError: It holds an error.
            NotACompletionError: It is no reply.
        """
        payload = _decode(body.decode("utf-8", "replace"))
        if not payload.get("choices") and "error" not in payload:
            raise NotACompletionError("the answer holds no reply")
        yield from self._take_payload(payload, "message")
        yield self.finished()

    def finished(self) -> Finished:
        """The closing event; to be called when the reply is complete."""
        details = _mapping(self._usage.get("prompt_tokens_details"))
        said = _mapping(self._usage.get("completion_tokens_details"))
        return Finished(
            self.finish_reason or "stop",
            input_tokens=_count(self._usage.get("prompt_tokens")),
            output_tokens=_count(self._usage.get("completion_tokens")),
            cache_read_tokens=_count(details.get("cached_tokens")),
            tool_calls=self._tools.calls(),
            cache_write_tokens=_count(details.get("cache_write_tokens")),
            reasoning_tokens=_count(said.get("reasoning_tokens")),
            cost_usd=_cost(self._usage.get("cost")),
        )

    def _payloads(self, data: str) -> Iterator[Mapping[str, Any]]:
        # Some servers leave out the blank line between events, which joins their data.
        parts = [data] if "\n" not in data or _is_json(data) else data.split("\n")
        for part in parts:
            if part.strip() == DONE:
                self.done = True
            elif part.strip():
                yield _decode(part)

    def _take_payload(self, payload: Mapping[str, Any], key: str) -> Iterator[Piece]:
        if payload.get("error"):
            raise EndpointError(payload)
        if isinstance(payload.get("usage"), Mapping):
            self._usage = payload["usage"]
        for choice in _choices(payload):
            if choice.get("index") not in (None, 0):
                continue
            message = _mapping(choice.get(key) or choice.get("message") or choice.get("delta"))
            thinking = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
            if thinking:
                yield ReasoningDelta(thinking)
            reply = _text(message.get("content")) or _text(message.get("refusal"))
            if reply:
                yield TextDelta(reply)
            self._tools.take(message.get("tool_calls"))
            yield from map(CallBegun, self._tools.newly_begun())
            if choice.get("finish_reason"):
                self.finish_reason = str(choice["finish_reason"])


def _choices(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = payload.get("choices")
    if choices is None:
        return []
    if not isinstance(choices, list) or not all(isinstance(entry, Mapping) for entry in choices):
        raise NotACompletionError("its list of choices is none")
    return choices


def _decode(text: str) -> Mapping[str, Any]:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotACompletionError("it is not JSON") from error
    if not isinstance(payload, dict):
        raise NotACompletionError("it is JSON, but no object")
    return payload


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    """Text of a content that is a string or a list of parts; "" for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(_mapping(part).get("text")) for part in value)
    return ""


def _cost(value: Any) -> float | None:
    """A price in US dollars; None for what cannot be one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < _MOST_USD else None


def _count(value: Any) -> int:
    """A number of tokens; 0 for what cannot be one (the store has no room for any integer)."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 < value <= _MOST_TOKENS else 0
