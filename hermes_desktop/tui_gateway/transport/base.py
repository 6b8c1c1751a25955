"""Where frames go."""

import threading
from collections.abc import Sequence
from typing import Protocol

from hermes_desktop.tui_gateway.protocol.frames import Frame


class Transport(Protocol):
    """One peer. Any thread."""

    @property
    def alive(self) -> bool:
        """Whether the peer is still there."""
        ...

    def write(self, frame: Frame) -> bool:
        """Send a frame; False only when the peer is gone."""
        ...


class Audience:
    """The peers that hear of one session. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._peers: tuple[Transport, ...] = ()

    @property
    def alive(self) -> bool:
        """Whether anybody hears."""
        return any(peer.alive for peer in self._peers)

    def has(self, peer: Transport | None) -> bool:
        """Whether this peer hears."""
        return any(each is peer for each in self._peers)

    def answers(self, silent: Sequence[Transport]) -> bool:
        """Whether anybody hears who is not among those that say nothing any more."""
        return any(peer.alive and all(each is not peer for each in silent) for peer in self._peers)

    def add(self, peer: Transport) -> None:
        """Let a peer hear, too."""
        with self._lock:
            if not self.has(peer):
                self._peers = (*self._peers, peer)

    def remove(self, peer: Transport) -> None:
        """Let a peer hear no more."""
        with self._lock:
            self._peers = tuple(each for each in self._peers if each is not peer)

    def write(self, frame: Frame) -> bool:
        """Send a frame to all; False when nobody is there. Who is gone is dropped."""
        heard = False
        for peer in self._peers:
            if peer.write(frame):
                heard = True
            else:
                self.remove(peer)
        return heard
