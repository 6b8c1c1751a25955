"""Server-sent events, decoded from bytes that may be cut anywhere."""

import json
from dataclasses import dataclass

_LF, _CR = 0x0A, 0x0D
_FIELDS = frozenset({b"data", b"event", b"id", b"retry"})
_MOST_BARE = 256 * 1024
BOM = b"\xef\xbb\xbf"


class LineTooLongError(ValueError):
    """One line exceeds the limit: this is not an event stream, or a hostile one."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event.

    Attributes:
        data: Its data.
        name: Its ``event`` field, "" without one.
    """

    data: str
    name: str = ""


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


def is_json(text: str) -> bool:
    """Return whether a text is JSON and nothing else."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
