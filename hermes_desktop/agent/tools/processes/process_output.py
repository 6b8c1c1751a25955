"""The output of a program, of which the latest part is kept."""

import threading
from dataclasses import dataclass

MOST_KEPT = 256 * 1024
_CONTINUES, _TOP = 0x80, 0xC0
_LENGTHS = ((0xC2, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xF4, 4))
"""Length of a UTF-8 character by its first byte."""
_LONGEST = 4


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of output.

    Attributes:
        cursor: Where the next one begins.
        missed: How many bytes before it are no longer kept.
    """

    text: str
    cursor: int
    missed: int = 0


class KeptOutput:
    """The latest output of one program. Thread-safe.

    Args:
        most: How many bytes are kept.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._data = bytearray()
        self._before = 0

    def take(self, chunk: bytes) -> None:
        """Add output."""
        with self._lock:
            self._data += chunk
            surplus = len(self._data) - self._most
            if surplus > 0:
                del self._data[:surplus]
                self._before += surplus

    @property
    def total(self) -> int:
        """How many bytes were received."""
        with self._lock:
            return self._before + len(self._data)

    def since(self, cursor: int, most: int) -> Excerpt:
        """Return up to ``most`` bytes of the output after a cursor, cut at whole characters."""
        with self._lock:
            first = min(max(cursor, self._before), self._before + len(self._data))
            piece = bytes(self._data[first - self._before : first - self._before + most])
        whole = _whole(piece)
        return Excerpt(
            piece[:whole].decode("utf-8", "replace"), first + whole, max(0, first - cursor)
        )

    def tail(self, most: int) -> Excerpt:
        """Return the latest output."""
        return self.since(max(0, self.total - most), most)


def _whole(piece: bytes) -> int:
    """Return where a piece ends with a whole character; invalid UTF-8 counts as whole."""
    for back in range(1, min(_LONGEST, len(piece)) + 1):
        byte = piece[-back]
        if byte & _TOP == _CONTINUES:
            continue
        length = next((n for first, last, n in _LENGTHS if first <= byte <= last), 1)
        return len(piece) - back if length > back else len(piece)
    return len(piece)
