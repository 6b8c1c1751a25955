"""Transports of frames: the program's own streams, or a Unix socket with several peers.

The streams are reserved for the protocol. All peers of a socket are run by the owner of the home.
"""

import contextlib
import errno
import logging
import os
import select
import socket
import stat
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from hermes_desktop.core.errors import BusyError, RefusedError, UsageError
from hermes_desktop.core.files import file_lock
from hermes_desktop.core.files.atomic_files import make_private_folder
from hermes_desktop.tui_gateway.protocol import Frame, encode

log = logging.getLogger(__name__)


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
_READ_BYTES = 256 * 1024


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
    while piece := read(_READ_BYTES):
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


@dataclass(frozen=True, slots=True)
class Streams:
    """Descriptors reserved for the protocol.

    Attributes:
        source: The descriptor for requests.
        sink: The descriptor for frames.
    """

    source: int
    sink: int


def claim_streams() -> Streams:
    """Reserve standard input and output for the protocol.

    Any other output from now on, including that of child processes and libraries, goes to standard
    error; standard input appears empty to other code.

    Raises:
        OSError: One of them is closed.
    """
    if sys.stdin is None or sys.stdout is None:  # closed when the program started
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()
    streams = Streams(os.dup(0), os.dup(1))
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return streams


@dataclass(eq=False)
class StreamTransport:
    """Writes frames to a descriptor, whole and in order. Blocks while the peer does not read.

    Args:
        sink: The descriptor.
        on_gone: Called once, when the peer is found to be gone.
    """

    sink: int
    on_gone: Callable[[], None] = lambda: None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _gone: bool = False

    @property
    def alive(self) -> bool:
        """Whether the last frame arrived."""
        return not self._gone

    def write(self, frame: Frame) -> bool:
        """Send a frame; return False only when the peer is gone."""
        data = memoryview(encode(frame))
        with self._lock:
            if self._gone:
                return False
            try:
                while data:
                    data = data[os.write(self.sink, data) :]
            except OSError:
                self._gone = True
        if self._gone:
            self.on_gone()
        return not self._gone


MOST_UNREAD_BYTES = 64 * 1024 * 1024
"""Limit of unread data; a peer beyond it is disconnected, so that others need not wait."""
_LONGEST_SOCKET_PATH = 107
_OTHERS_MODE = 0o077
_PEER_CREDENTIALS = struct.Struct("3i")


class SocketTransport:
    """Sends frames to one connection, on a separate thread. Any thread may write.

    Args:
        connection: The accepted socket; closed by :meth:`close`.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._unread = 0
        self._gone = False
        self._closing = False
        self._thread = threading.Thread(target=self._send, daemon=True, name="rpc-peer")
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the peer is still connected."""
        return not self._gone and not self._closing

    def write(self, frame: Frame) -> bool:
        """Send a frame; return False only when the peer is gone."""
        data = encode(frame)
        with self._changed:
            if self._gone or self._closing:
                return False
            if self._unread + len(data) > MOST_UNREAD_BYTES:
                log.warning("A peer reads too slowly and is disconnected")
                self._hang_up()
                return False
            self._waiting.append(data)
            self._unread += len(data)
            self._changed.notify()
        return True

    @property
    def listens(self) -> bool:
        """Whether the peer has not disconnected, although it may have closed its input."""
        if not self.alive:
            return False
        looking = select.poll()
        looking.register(self._connection, 0)
        return not looking.poll(0)

    def read(self, most: int) -> bytes:
        """Return what the peer sent, b"" when there is no more."""
        try:
            return self._connection.recv(most)
        except OSError:
            return b""

    def close(self, *, limit_s: float = 2.0) -> None:
        """Send what is queued, within a time-out, and disconnect."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(limit_s)
        with self._changed:
            self._hang_up()
        self._connection.close()

    def _hang_up(self) -> None:
        self._gone = True
        self._waiting.clear()
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._changed.notify()

    def _send(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._gone or self._closing)
                if self._gone or not self._waiting:
                    return
                data = self._waiting.popleft()
            try:
                self._connection.sendall(data)
            except OSError:
                with self._changed:
                    self._hang_up()
                return
            with self._changed:
                self._unread -= len(data)


class ListeningSocket:
    """The socket of one home, in a folder that only the owner may enter.

    Args:
        path: Its path; a missing folder is created (0700).

    Raises:
        UsageError: The path is too long for a socket.
        RefusedError: Other users may enter the folder, the path is not a socket, or this system
            cannot identify the connecting user.
        BusyError: Another process listens there.
        OSError: It cannot be created.
    """

    def __init__(self, path: Path) -> None:
        if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
            raise UsageError(
                "The path of the socket is too long.",
                f"{path} has more than {_LONGEST_SOCKET_PATH} bytes.",
                "Give a shorter one.",
            )
        if not hasattr(socket, "SO_PEERCRED"):
            raise RefusedError(
                "This system has no sockets for a single user.",
                "It does not reveal which user connects.",
                "Use `hermes-desktop rpc` on standard streams.",
            )
        self.path = path
        make_private_folder(path.parent)
        _check_folder(path.parent)
        _refuse_another(path)  # before the lock, which would be left beside it
        with file_lock.hold(path.with_name(f"{path.name}.lock")):
            _remove_left_over(path)
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            before = os.umask(0o177)  # other users must never be able to connect, not even briefly
            try:
                self._socket.bind(str(path))
            except OSError:
                self._socket.close()
                raise
            finally:
                os.umask(before)
            self._socket.listen(16)
            self._inode = path.stat().st_ino

    def accept(self) -> SocketTransport | None:
        """Return the next peer of the same user; None when the socket was closed. Blocks."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return None
            if _is_ours(connection):
                return SocketTransport(connection)
            log.warning("A process of another user connected and was disconnected")
            connection.close()

    def close(self) -> None:
        """Stop listening, and remove the socket unless another process has replaced it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with contextlib.suppress(OSError):
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()


def _check_folder(folder: Path) -> None:
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & _OTHERS_MODE:
        raise RefusedError(
            "The socket cannot be created in a folder that others can open.",
            f"{folder} belongs to another user, or its permissions are wider than 0700.",
            "Choose a folder that only you can open, or omit the path.",
        )


def _refuse_another(path: Path) -> None:
    """Refuse a path that exists and is not a socket."""
    if os.path.lexists(path) and not stat.S_ISSOCK(path.lstat().st_mode):
        raise RefusedError(
            "The path of the socket is already in use.",
            f"{path} is not a socket; it was left unchanged.",
            "Choose another path.",
        )


def _remove_left_over(path: Path) -> None:
    """Remove a socket that no process listens to any more."""
    if not os.path.lexists(path):
        return
    _refuse_another(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise BusyError(
        "Another process serves this socket.",
        f"It answers at {path}.",
        "Connect to it, or choose another path.",
    )


def _is_ours(connection: socket.socket) -> bool:
    """Return whether the peer is a process of the same user."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
    _, user, _ = _PEER_CREDENTIALS.unpack(found)
    return bool(user == os.getuid())
