"""One window per user and home: the first start holds a lock, later starts contact it.

The lock is taken before database, gateway or tray are touched. A socket left behind by a crash is
removed only by the holder of the lock.
"""

import hashlib
import json
import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

log = logging.getLogger(__name__)

_MAX_MESSAGE = 4096
_REPLY = b"ok\n"


@dataclass(frozen=True, slots=True)
class InstanceName:
    """The location of lock and socket of one home."""

    lock_file: Path
    socket_name: str


def instance_name(home: Path, folder: Path, *, demo: bool = False) -> InstanceName:
    """Derive the names from user and home; the demonstration has separate names.

    Args:
        home: The Hermes home.
        folder: ``core.paths.runtime_dir()``.
        demo: Whether this is the demonstration.
    """
    person = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    digest = hashlib.sha256(f"{person}\0{home.resolve()}".encode()).hexdigest()[:16]
    stem = f"hermes-desktop-{'demo-' if demo else ''}{digest}"
    socket = stem if os.name == "nt" else str(folder / f"{stem}.socket")
    return InstanceName(folder / f"{stem}.lock", socket)


class SingleInstance(QObject):
    """The lock and the listening socket of the first instance.

    Args:
        name: From :func:`instance_name`.
    """

    show_requested = Signal(str)
    """A later start requests the window; carries its activation token or ""."""

    def __init__(self, name: InstanceName, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._lock = QLockFile(str(name.lock_file))
        self._lock.setStaleLockTime(0)  # only a dead process loses the lock, never a sleeping one
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._serve)

    def acquire(self) -> bool:
        """Try to take the lock. Does not wait; return False if another process holds it."""
        return self._lock.tryLock(0)

    def listen(self) -> bool:
        """Answer later starts from now on. Call only after :meth:`acquire`.

        Returns:
            False if the socket cannot be created; the program works without it.
        """
        QLocalServer.removeServer(self._name.socket_name)
        if self._server.listen(self._name.socket_name):
            return True
        log.warning("Later starts cannot reach this window: %s", self._server.errorString())
        return False

    def close(self) -> None:
        """Stop listening and release the lock."""
        self._server.close()
        self._lock.unlock()

    def _serve(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            connection = _Connection(socket, self)
            connection.show_requested.connect(self.show_requested)


class _Connection(QObject):
    """Reads one short line, answers, and closes."""

    show_requested = Signal(str)

    def __init__(self, socket: QLocalSocket, parent: QObject) -> None:
        super().__init__(parent)
        self._socket = socket
        socket.setParent(self)
        socket.setReadBufferSize(_MAX_MESSAGE)
        socket.readyRead.connect(self._read)
        socket.disconnected.connect(self.deleteLater)
        self._read()

    def _read(self) -> None:
        if not self._socket.canReadLine():
            if self._socket.bytesAvailable() >= _MAX_MESSAGE:
                self._socket.abort()
            return
        token = _token_of(bytes(self._socket.readLine().data()))
        if token is None:
            self._socket.abort()
            return
        self._socket.write(_REPLY)
        self._socket.flush()
        self._socket.disconnectFromServer()
        self.show_requested.emit(token)


def ask_first_instance(
    name: InstanceName, *, token: str = "", patience_s: float = 3.0
) -> Literal["shown", "silent"]:
    """Ask the instance that holds the lock to show its window. Blocks; call before any loop runs.

    Args:
        name: From :func:`instance_name`.
        token: Lets a Wayland compositor bring the window to the front, "" without.
        patience_s: How long the first instance may still be starting.

    Returns:
        ``shown`` if it answered, ``silent`` if it did not.
    """
    message = json.dumps({"command": "show", "token": token[:1024]}).encode() + b"\n"
    deadline = time.monotonic() + patience_s
    pause = threading.Event()
    while time.monotonic() < deadline:
        if _ask_once(name.socket_name, message, deadline):
            return "shown"
        pause.wait(0.1)
    return "silent"


def _ask_once(socket_name: str, message: bytes, deadline: float) -> bool:
    socket = QLocalSocket()
    socket.connectToServer(socket_name)
    if not socket.waitForConnected(500):
        return False
    socket.write(message)
    socket.flush()
    answer = b""
    while not answer.endswith(b"\n"):
        left_ms = int((deadline - time.monotonic()) * 1000)
        if left_ms <= 0 or not (socket.bytesAvailable() or socket.waitForReadyRead(left_ms)):
            break
        answer += socket.readAll().data()
    socket.abort()
    return answer == _REPLY


def _token_of(line: bytes) -> str | None:
    """Return the activation token of a request, None if the request is invalid."""
    try:
        request = json.loads(line)
    except ValueError:
        return None
    if not isinstance(request, dict) or request.get("command") != "show":
        return None
    token = request.get("token", "")
    return token if isinstance(token, str) else None
