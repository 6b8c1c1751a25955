"""Decoding of chat-completions responses: chunks of a stream and complete answers.

Tool calls are assembled from the pieces in which they are streamed.
"""

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.agent.providers.tolerances import (
    ENDINGS,
    MessageParts,
    PairJoiner,
    error_in,
    media_placeholder,
    message_in,
    parts_of,
)
from hermes_desktop.agent.types import (
    Finished,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    TextRetracted,
    ToolCall,
    ToolCallAnnounced,
)
from hermes_desktop.core.text.thinking_split import Part, ThinkingSplitter
from hermes_desktop.state.records.content_codec import clean_text

MOST_CALLS = 128
"""More in one answer are not a legitimate request."""
MOST_ARGUMENTS = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event.

    Attributes:
        data: Its data.
        name: Its ``event`` field, "" without one.
    """

    data: str
    name: str = ""


@dataclass(slots=True)
class _Slot:
    index: object
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    told: bool = False


class ToolFragments:
    """Collects pieces in the order of arrival; a call may be cut anywhere.

    Pieces belong together by their index; a new id at a used index begins another call, and a
    piece without an index belongs to the call with its id, or to the latest.
    """

    def __init__(self) -> None:
        self._slots: list[_Slot] = []

    def take(self, pieces: Any) -> None:
        """Add the ``tool_calls`` of one chunk, or of a whole answer; invalid ones are skipped."""
        for place, piece in enumerate(pieces if isinstance(pieces, list) else ()):
            if isinstance(piece, Mapping):
                self._take_one(piece, alone=len(pieces) == 1, place=place)

    def newly_named(self) -> list[str]:
        """Return the names of calls that are known by now, and were not returned before."""
        found = [slot for slot in self._slots if slot.name and slot.size and not slot.told]
        for slot in found:
            slot.told = True
        return [clean_text(slot.name) for slot in found]

    def calls(self) -> tuple[ToolCall, ...]:
        """Return the calls, each with an id that is unique among them."""
        calls: list[ToolCall] = []
        taken: set[str] = set()
        for slot in self._slots:
            call_id = slot.id if slot.id and slot.id not in taken else _new_id()
            taken.add(call_id)
            name, arguments = clean_text(slot.name), clean_text("".join(slot.pieces))
            calls.append(ToolCall(call_id, name, arguments))
        return tuple(calls)

    def _take_one(self, piece: Mapping[str, Any], *, alone: bool, place: int) -> None:
        call_id = piece["id"] if isinstance(piece.get("id"), str) else ""
        index = piece.get("index", None if alone else place)
        slot = self._slot(index, call_id)
        if slot is None:
            return
        slot.id = slot.id or call_id
        function = piece.get("function")
        inner = function if isinstance(function, Mapping) else piece
        name = inner.get("name")
        if isinstance(name, str) and name != slot.name:  # some repeat it in every piece
            slot.name += name
        _add_arguments(slot, inner.get("arguments"))

    def _slot(self, index: object, call_id: str) -> _Slot | None:
        for slot in reversed(self._slots):
            same_place = index is not None and slot.index == index
            if same_place and (not call_id or not slot.id or slot.id == call_id):
                return slot
            if index is None and call_id and slot.id == call_id:
                return slot
        if index is None and not call_id and self._slots:
            return self._slots[-1]
        if len(self._slots) >= MOST_CALLS:
            return None
        self._slots.append(_Slot(index))
        return self._slots[-1]


def _add_arguments(slot: _Slot, arguments: Any) -> None:
    if arguments is None:
        return
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    slot.size += len(text)
    if slot.size <= MOST_ARGUMENTS:  # a longer one is broken, and is answered as such
        slot.pieces.append(text)


def _new_id() -> str:
    return f"call_{secrets.token_hex(8)}"


DONE = "[DONE]"
_MOST_TOKENS = 10**12
_MOST_USD = 10**6
_MOST_STRAY = 4000
_OF_A_REPLY = re.compile(r'"(choices|delta|content)"')


def encode_json(value: Any) -> bytes:
    """Encode compact JSON in UTF-8; halves of surrogate pairs become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return clean_text(text).encode()


class EndpointError(Exception):
    """The response contains an error instead of a reply.

    Attributes:
        payload: The decoded response that contained it.
    """

    def __init__(self, payload: Mapping[str, Any]) -> None:
        super().__init__("the response contains an error")
        self.payload = payload


class NotACompletionError(ValueError):
    """The response is not what a chat-completions endpoint sends."""


_NOTHING = MessageParts()
_ENDINGS = {each.reason: each.means for each in ENDINGS}


class CompletionReader:
    """A reader that converts the data a server sends for one reply into events.

    Args:
        begins_thinking: The model's text begins with thinking that only a closing mark ends.

    Attributes:
        done: The end mark of the stream was received.
        finish_reason: As sent by the endpoint, None until then.
        spoke: Part of a reply was received.
        stray: The last data that was not part of a reply, "" if a part followed it.
    """

    def __init__(self, *, begins_thinking: bool = False) -> None:
        self.done = False
        self.finish_reason: str | None = None
        self.stray = ""
        self._usage: Mapping[str, Any] = {}
        self._usage_last = False
        self._tools = ToolFragments()
        self._splitter = ThinkingSplitter(begins_inside=begins_thinking)
        self.spoke = False
        self._said = False
        self._text_pairs = PairJoiner()
        self._thinking_pairs = PairJoiner()
        self._media: list[str] = []

    @property
    def complete(self) -> bool:
        """Whether the endpoint signaled the end of the reply."""
        return self.done or self.finish_reason is not None

    @property
    def ended_well(self) -> bool:
        """Whether a reply that ends now is complete: some end with the token counts."""
        return self.complete or (self._said and self._usage_last)

    @property
    def closed_alone(self) -> bool | None:
        """Whether thinking came without its opening mark; None while the reply has no text."""
        return self._splitter.closed_alone if self._said else None

    def take(self, event: ServerEvent) -> Iterator[StreamEvent]:
        """Decode one event.

        Raises:
            EndpointError: It contains an error.
            NotACompletionError: It is a damaged piece of a reply.
        """
        data = event.data
        # Some servers omit the blank line between events, which joins their data.
        parts = [data] if "\n" not in data or is_json(data) else data.split("\n")
        for part in parts:
            if part.strip() == DONE:
                self.done = True
                continue
            for payload in self._payloads(part, event.name):
                yield from self._take_payload(payload, "delta", event.name)

    def take_whole(self, body: bytes) -> Iterator[StreamEvent]:
        """Decode a response that arrived in one piece.

        Raises:
            EndpointError: It contains an error.
            NotACompletionError: It is not a reply.
        """
        found = _decode(body.decode("utf-8-sig", "replace"))
        payload = found[0] if isinstance(found, list) and found else found
        if not isinstance(payload, Mapping):
            raise NotACompletionError("it is JSON, but not an object")
        error = error_in(payload)
        if error is None and not payload.get("choices"):
            raise NotACompletionError("the response contains no reply")
        yield from self._take_payload(payload, "message", "")
        yield from self.ending()

    def ending(self) -> Iterator[StreamEvent]:
        """Yield the last events; to be called once, when the reply is complete."""
        finished = self._finished()
        yield from self._rest(acts=bool(finished.tool_calls))
        told = media_placeholder(self._media)
        if told:
            yield TextDelta(f"\n\n{told}" if self._said else told)
        yield finished

    def cut_off(self) -> Iterator[StreamEvent]:
        """Yield what was held back of an incomplete reply; to be called once."""
        yield from self._rest(cut=True)

    def _rest(self, *, acts: bool = False, cut: bool = False) -> Iterator[StreamEvent]:
        thinking = self._thinking_pairs.end()
        if thinking:
            yield ReasoningDelta(thinking)
        yield from _events(self._splitter.feed(self._text_pairs.end()))
        yield from _events(self._splitter.end(acts=acts, cut=cut))

    def _finished(self) -> Finished:
        details = _mapping(self._usage.get("prompt_tokens_details"))
        said = _mapping(self._usage.get("completion_tokens_details"))
        reason = self.finish_reason or "stop"
        means = _ENDINGS.get(reason.lower(), "failed")
        return Finished(
            reason if means == "failed" else means,
            input_tokens=_count(self._usage.get("prompt_tokens")),
            output_tokens=_count(self._usage.get("completion_tokens")),
            cache_read_tokens=_count(details.get("cached_tokens")),
            tool_calls=self._tools.calls(),
            cache_write_tokens=_count(details.get("cache_write_tokens")),
            reasoning_tokens=_count(said.get("reasoning_tokens")),
            cost_usd=_cost(self._usage.get("cost")),
        )

    def _payloads(self, data: str, event: str) -> Iterator[Mapping[str, Any]]:
        """Yield the objects in the data of an event; other data is skipped and recorded."""
        text = data.strip()
        if not text or text.startswith(":"):  # a comment that a gateway framed as data
            return
        try:
            found = _decode(text)
        except NotACompletionError:
            if event == "error":
                raise EndpointError({"error": text}) from None
            if text.startswith("{") and _OF_A_REPLY.search(text):
                raise
            found = None
        objects = found if isinstance(found, list) else [found]
        known = [each for each in objects if isinstance(each, Mapping)]
        if not known:
            self.stray = text[:_MOST_STRAY]
        yield from known

    def _take_payload(
        self, payload: Mapping[str, Any], key: str, event: str
    ) -> Iterator[StreamEvent]:
        choices = _choices(payload)
        error = error_in(payload, event)
        if error is not None and not choices:
            raise EndpointError(error)
        has_usage = isinstance(payload.get("usage"), Mapping)
        if has_usage:
            self._usage = payload["usage"]
        self._usage_last = has_usage and not choices
        known = has_usage or "choices" in payload
        self.stray = "" if known else json.dumps(payload)[:_MOST_STRAY]
        for choice in choices:
            if choice.get("index") in (None, 0):
                yield from self._take_choice(choice, key)
        if error is not None:
            raise EndpointError(error)

    def _take_choice(self, choice: Mapping[str, Any], key: str) -> Iterator[StreamEvent]:
        parts = parts_of(message_in(choice, key))
        thinking = self._thinking_pairs.feed(parts.thinking)
        if thinking:
            self._splitter.expect_no_thinking()
            yield ReasoningDelta(thinking)
        text = self._text_pairs.feed(parts.text)
        if text:
            self._said = self._said or bool(text.strip())
            yield from _events(self._splitter.feed(text))
        self._media += parts.media
        self.spoke = self.spoke or parts != _NOTHING
        self._tools.take(parts.tool_calls)
        yield from map(ToolCallAnnounced, self._tools.newly_named())
        if choice.get("finish_reason"):
            self.finish_reason = str(choice["finish_reason"])


def _events(parts: list[Part]) -> Iterator[StreamEvent]:
    for kind, text in parts:
        if kind == "text":
            yield TextDelta(text)
        elif kind == "thinking":
            yield ReasoningDelta(text, marked=True)
        else:
            yield TextRetracted(text)


def _choices(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the choices of a piece; null, or none, in pieces that only count tokens."""
    choices = payload.get("choices")
    found = choices if isinstance(choices, list) else []
    return [each for each in found if isinstance(each, Mapping)]


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotACompletionError("it is not JSON") from error


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _cost(value: Any) -> float | None:
    """Return a price in US dollars; None for an invalid one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < _MOST_USD else None


def _count(value: Any) -> int:
    """Return a number of tokens; 0 for an invalid one (the store cannot hold every integer)."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 < value <= _MOST_TOKENS else 0


def is_json(text: str) -> bool:
    """Return whether a text is JSON and nothing else."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
