"""Splitting of a byte stream into lines of limited length."""

from collections.abc import Callable, Iterator
from typing import Final

MOST_BYTES = 64 * 1024 * 1024
"""Length limit of a line. A longer one could fill the memory; it is skipped with an error."""
_PIECE = 256 * 1024


class _TooLong:
    def __repr__(self) -> str:
        return "<line too long>"


TOO_LONG: Final = _TooLong()
"""Placeholder for a line that was skipped."""


def read_lines(
    read: Callable[[int], bytes], *, most_bytes: int = MOST_BYTES
) -> Iterator[bytes | _TooLong]:
    """Yield lines until the end of input; the last one may lack its line end.

    Args:
        read: Returns up to the given number of bytes, b"" at the end; blocks.
        most_bytes: Length limit of a line.
    """
    pieces: list[bytes] = []
    held = 0
    skipping = False
    while piece := read(_PIECE):
        *whole, rest = piece.split(b"\n")
        for end in whole:
            if not skipping:
                too_long = held + len(end) > most_bytes
                yield TOO_LONG if too_long else b"".join((*pieces, end))
            pieces, held, skipping = [], 0, False
        if skipping or not rest:
            continue
        pieces.append(rest)
        held += len(rest)
        if held > most_bytes:
            yield TOO_LONG
            pieces, held, skipping = [], 0, True
    if pieces:
        yield b"".join(pieces)
