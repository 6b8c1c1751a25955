"""The transport interface, the set of peers subscribed to a session, and splitting into lines."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from hermes_desktop.tui_gateway.protocol import Frame


class Transport(Protocol):
    """Connection to one peer. Any thread."""

    @property
    def alive(self) -> bool:
        """Whether the peer is still connected."""
        ...

    def write(self, frame: Frame) -> bool:
        """Send a frame; return False only when the peer is gone."""
        ...


class Subscribers:
    """The peers subscribed to one session. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._peers: tuple[Transport, ...] = ()

    @property
    def alive(self) -> bool:
        """Whether any peer is connected."""
        return any(peer.alive for peer in self._peers)

    def has(self, peer: Transport | None) -> bool:
        """Return whether this peer is subscribed."""
        return any(each is peer for each in self._peers)

    def answers(self, silent: Sequence[Transport]) -> bool:
        """Return whether any connected peer is not among those that closed their input."""
        return any(peer.alive and all(each is not peer for each in silent) for peer in self._peers)

    def add(self, peer: Transport) -> None:
        """Subscribe a peer."""
        with self._lock:
            if not self.has(peer):
                self._peers = (*self._peers, peer)

    def remove(self, peer: Transport) -> None:
        """Unsubscribe a peer."""
        with self._lock:
            self._peers = tuple(each for each in self._peers if each is not peer)

    def write(self, frame: Frame) -> bool:
        """Send a frame to all; return False when no peer is connected. Gone peers are dropped."""
        heard = False
        for peer in self._peers:
            if peer.write(frame):
                heard = True
            else:
                self.remove(peer)
        return heard


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
