"""Reader of the response to one call: server-sent events, a complete reply, or a refusal."""

import time
from collections.abc import Iterator

from hermes_desktop.agent.providers.base import TimeOuts
from hermes_desktop.agent.providers.completion import (
    CompletionReader,
    EndpointError,
    NotACompletionError,
    ServerEvent,
    encode_json,
    is_json,
)
from hermes_desktop.agent.providers.failures import (
    CallErrors,
    CallFailedError,
    Refusal,
    is_too_long,
)
from hermes_desktop.agent.providers.http_call import End, Head, HttpCall, Item
from hermes_desktop.agent.providers.tolerances import status_in
from hermes_desktop.agent.types import CancelSignal, StreamEvent

TICK_S = 0.05
"""How often a waiting thread checks whether it should give up."""

_ERROR_BODY = 64 * 1024
_WHOLE_BODY = 32 * 1024 * 1024
_LONGEST_STREAM = 64 * 1024 * 1024
"""A quarter of a million tokens with their framing: more than any model sends."""


_LF, _CR = 0x0A, 0x0D
_FIELDS = frozenset({b"data", b"event", b"id", b"retry"})
_MOST_BARE = 256 * 1024
BOM = b"\xef\xbb\xbf"


class LineTooLongError(ValueError):
    """One line exceeds the limit: this is not an event stream, or a hostile one."""


class SseParser:
    """A parser that converts pieces of bytes into events.

    Lines may end with LF, CR LF or CR. Comments and unknown fields are skipped. Lines that are not
    fields are returned as separate events, and JSON over several lines as one: servers send
    errors in this form, and some whole replies. Characters are decoded line by line, so that a
    piece may end within one.

    Args:
        max_line: Longest line that is kept in memory, in bytes.
    """

    def __init__(self, *, max_line: int = 8 * 1024 * 1024) -> None:
        self._max_line = max_line
        self._buffer = bytearray()
        self._searched = 0
        self._skip_lf = False
        self._first = True
        self._data: list[str] = []
        self._name = ""
        self._bare: list[str] = []

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Process more bytes; return the events they complete.

        Raises:
            LineTooLongError: A line is longer than allowed.
        """
        self._buffer += piece
        events: list[ServerEvent] = []
        while (line := self._next_line()) is not None:
            self._take(line, events)
        if len(self._buffer) > self._max_line:
            raise LineTooLongError(f"more than {self._max_line} bytes without a line end")
        return events

    def end(self) -> list[ServerEvent]:
        """Process the end of the bytes; return what a missing blank line held back."""
        events: list[ServerEvent] = []
        if self._buffer:
            self._take(bytes(self._buffer), events)
            self._buffer.clear()
        self._take(b"", events)
        self._give_bare(events)
        return events

    def _next_line(self) -> bytes | None:
        buffer = self._buffer
        if self._skip_lf and buffer:
            if buffer[0] == _LF:
                del buffer[0]
            self._skip_lf = False
        ends = [
            at
            for at in (buffer.find(b"\n", self._searched), buffer.find(b"\r", self._searched))
            if at >= 0
        ]
        if not ends:
            self._searched = len(buffer)
            return None
        end = min(ends)
        line = bytes(buffer[:end])
        # The LF of a CR LF may arrive with the next piece.
        self._skip_lf = buffer[end] == _CR
        del buffer[: end + 1]
        self._searched = 0
        return line

    def _take(self, line: bytes, events: list[ServerEvent]) -> None:
        if self._first:
            line = line.removeprefix(BOM)
            self._first = False
        if not line:
            if self._data:
                events.append(ServerEvent("\n".join(self._data), self._name))
                self._data.clear()
            self._name = ""
            return
        name, colon, value = line.partition(b":")
        if name not in _FIELDS and (name or not colon):
            self._take_bare(line.decode("utf-8", "replace"), events)
            return
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(text)
        elif name == b"event":
            self._name = text.strip()

    def _take_bare(self, line: str, events: list[ServerEvent]) -> None:
        """Process a line that is not a field: a part of JSON without framing, or plain text."""
        self._bare.append(line)
        is_words = self._bare[0].lstrip()[:1] not in {"{", "["}
        is_whole = line.rstrip()[-1:] in {"}", "]"} and is_json("\n".join(self._bare))
        if is_words or is_whole or sum(map(len, self._bare)) > _MOST_BARE:
            self._give_bare(events)

    def _give_bare(self, events: list[ServerEvent]) -> None:
        if self._bare:
            events.append(ServerEvent("\n".join(self._bare), self._name))
            self._bare.clear()


class Answer:
    """A reader of one response.

    Attributes:
        ended: The response is complete, and the connection may carry another request.
    """

    def __init__(
        self,
        call: HttpCall,
        timeouts: TimeOuts,
        failures: CallErrors,
        cancel: CancelSignal,
        *,
        begins_thinking: bool = False,
    ) -> None:
        self._call = call
        self._timeouts = timeouts
        self._failures = failures
        self._cancel = cancel
        self._reader = CompletionReader(begins_thinking=begins_thinking)
        self._begun = False
        self._spoke = False
        self.ended = False

    @property
    def closed_alone(self) -> bool | None:
        """Whether its text began with thinking without an opening mark; None: it has no text."""
        return self._reader.closed_alone

    def events(self) -> Iterator[StreamEvent]:
        """Yield the events of the reply; ends early when cancelled."""
        deadline = time.monotonic() + self._timeouts.first_byte
        head = self._accepted(deadline)
        if head is not None:
            yield from self._reply(deadline, head.headers.get("content-type", ""))

    def body(self) -> bytes | None:
        """Return the whole body of a response that is not a model's reply; None when cancelled."""
        head = self._accepted(time.monotonic() + self._timeouts.first_byte)
        if head is None:
            return None
        body = self._rest(b"", _WHOLE_BODY)
        return None if self._cancel.is_set() else body

    def _accepted(self, deadline: float) -> Head | None:
        """Return the head of a successful response; None when cancelled."""
        head = self._next(deadline)
        if not isinstance(head, Head):
            return None
        if 200 <= head.status < 300:  # noqa: PLR2004
            return head
        body = self._rest(b"", _ERROR_BODY, strict=False)
        if self._cancel.is_set():
            return None
        content_type, location = (head.headers.get(n, "") for n in ("content-type", "location"))
        raise self._failures.refused(
            Refusal(head.status, body, content_type, head.wait_s, location)
        )

    def _reply(self, deadline: float, content_type: str) -> Iterator[StreamEvent]:
        start = b""
        while not start:
            # Empty lines keep some connections alive; they are not an answer, and are not kept.
            if time.monotonic() > deadline:
                raise self._too_slow()
            piece = self._next(deadline)
            if not isinstance(piece, bytes):
                if not self._cancel.is_set():
                    raise self._failures.broken("the response is empty")
                return
            start = piece.lstrip().removeprefix(BOM).lstrip()
        # By its first character, since the content types that servers send are unreliable.
        if start[:1] in b"{[":
            yield from self._whole(start, content_type)
        elif start[:1] == b"<":
            raise self._failures.nonsense("HTML", start, content_type)
        else:
            yield from self._streamed(start)

    def _whole(self, start: bytes, content_type: str) -> Iterator[StreamEvent]:
        body = self._rest(start, _WHOLE_BODY)
        if self._cancel.is_set():
            return
        try:
            yield from list(self._reader.take_whole(body))
        except EndpointError as error:
            raise self._inner_error(error) from error
        except NotACompletionError as error:
            if _is_in_lines(body):  # a stream without its framing
                yield from self._streamed(body)
                return
            raise self._failures.nonsense(str(error), body, content_type) from error

    def _streamed(self, start: bytes) -> Iterator[StreamEvent]:
        try:
            yield from self._pieces(start)
        except CallFailedError:
            yield from self._reader.cut_off()
            raise
        if not self._reader.ended_well:
            yield from self._reader.cut_off()
            if not self._cancel.is_set():
                raise self._ended_early()
            return
        self._drain()
        yield from self._reader.ending()

    def _ended_early(self) -> CallFailedError:
        """Build the error for a stream that ended too early; its last text may be the reason."""
        stray = self._reader.stray
        is_answer = stray.startswith("{") or is_too_long(None, stray, frozenset())
        if is_answer and not self._reader.spoke:
            return self._failures.refused(Refusal(None, stray.encode("utf-8", "replace")))
        words = f": “{stray}”" if stray else ""
        return self._failures.broken(f"the stream ended in the middle{words}")

    def _pieces(self, start: bytes) -> Iterator[StreamEvent]:
        parser = SseParser()
        piece: bytes | None = start
        came = 0
        while piece is not None:
            came += len(piece)
            if came > _LONGEST_STREAM:
                raise self._failures.broken("the reply has no end", again=False)
            yield from self._decoded(parser, piece)
            piece = None if self._reader.done else self._following()
        if not self._reader.done and not (self._cancel.is_set() and not self._reader.complete):
            yield from self._decoded(parser, None)

    def _decoded(self, parser: SseParser, piece: bytes | None) -> Iterator[StreamEvent]:
        try:
            for event in parser.end() if piece is None else parser.feed(piece):
                for said in self._reader.take(event):
                    self._spoke = True
                    yield said
                if self._reader.done:
                    return
        except EndpointError as error:
            raise self._inner_error(error) from error
        except NotACompletionError as error:
            if not self._reader.complete:
                cut = piece is None
                reason = (
                    "the stream ended in the middle" if cut else f"a piece is damaged ({error})"
                )
                raise self._failures.broken(reason) from error
        except LineTooLongError as error:
            raise self._failures.broken(f"a line has no end ({error})", again=False) from error

    def _following(self) -> bytes | None:
        """Return the next piece of a stream; None at its end, when cancelled or complete."""
        complete = self._reader.complete
        # A head or a comment may arrive long before the model has processed the conversation.
        seconds = self._timeouts.between if self._spoke else self._timeouts.first_byte
        if complete:
            seconds = self._timeouts.after_end
        try:
            piece = self._next(time.monotonic() + seconds)
        except CallFailedError:
            if complete:
                return None
            raise
        return piece if isinstance(piece, bytes) else None

    def _inner_error(self, error: EndpointError) -> CallFailedError:
        refusal = Refusal(status_in(error.payload), encode_json(error.payload))
        return self._failures.refused(refusal)

    def _rest(self, start: bytes, limit: int, *, strict: bool = True) -> bytes:
        body = bytearray(start)
        deadline = time.monotonic() + self._timeouts.between
        try:
            while len(body) < limit and isinstance(piece := self._next(deadline), bytes):
                body += piece
        except CallFailedError:
            # Half an error message is still useful.
            if strict:
                raise
        return bytes(body[:limit])

    def _drain(self) -> None:
        """Read the end of the response, if it has arrived, so that the connection can be reused."""
        deadline = time.monotonic() + TICK_S * 4
        try:
            while not self.ended and isinstance(self._next(deadline), bytes):
                pass
        except CallFailedError:
            return

    def _next(self, deadline: float) -> Item | None:
        """Return the next item received, the end included; None when cancelled. Raises errors."""
        while not self._cancel.is_set():
            left = deadline - time.monotonic()
            item = self._call.take(min(TICK_S, left))
            if isinstance(item, CallFailedError):
                raise item
            if isinstance(item, End):
                self.ended = True
                return item
            if item is not None:
                self._begun = self._begun or isinstance(item, bytes)
                return item
            if left <= 0:
                raise self._too_slow()
        return None

    def _too_slow(self) -> CallFailedError:
        if self._begun:
            return self._failures.broken("there was no more data for a long time", again=False)
        return self._failures.unreachable(
            f"it accepted the request but did not respond within {self._timeouts.first_byte:g} s",
            "Check whether the model is still loading, or use a faster one.",
            again=False,
        )


def _is_in_lines(body: bytes) -> bool:
    """Return whether a response consists of several JSON texts, one per line."""
    lines = [line for line in body.splitlines() if line.strip()][:2]
    return len(lines) > 1 and is_json(lines[0].decode("utf-8-sig", "replace"))
