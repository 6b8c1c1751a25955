"""The transport interface, and the set of peers subscribed to a session."""

import threading
from collections.abc import Sequence
from typing import Protocol

from hermes_desktop.tui_gateway.protocol.frames import Frame


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
