"""Server-sent events, decoded from bytes that may be cut anywhere."""

_LF, _CR = 0x0A, 0x0D
_BOM = b"\xef\xbb\xbf"


class LineTooLongError(ValueError):
    """One line went over the limit: this is no event stream, or a hostile one."""


class SseParser:
    """Turns pieces of bytes into the ``data`` of events.

    Lines may end with LF, CR LF or CR. Comments and fields other than ``data`` are passed over.
    Characters are decoded line by line, so that a piece may end within one.

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

    def feed(self, piece: bytes) -> list[str]:
        """Take more bytes; give the events they complete.

        Raises:
            LineTooLongError: A line is longer than allowed.
        """
        self._buffer += piece
        events: list[str] = []
        while (line := self._next_line()) is not None:
            self._take(line, events)
        if len(self._buffer) > self._max_line:
            raise LineTooLongError(f"more than {self._max_line} bytes without a line end")
        return events

    def end(self) -> list[str]:
        """No more bytes come; give what a missing blank line held back."""
        events: list[str] = []
        if self._buffer:
            self._take(bytes(self._buffer), events)
            self._buffer.clear()
        self._take(b"", events)
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
        # The LF of a CR LF may come with the next piece.
        self._skip_lf = buffer[end] == _CR
        del buffer[: end + 1]
        self._searched = 0
        return line

    def _take(self, line: bytes, events: list[str]) -> None:
        if self._first:
            line = line.removeprefix(_BOM)
            self._first = False
        if not line:
            if self._data:
                events.append("\n".join(self._data))
                self._data.clear()
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
