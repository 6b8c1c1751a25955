"""An HTTP proxy on loopback that accepts only CONNECT, and forwards everything to one port."""

import contextlib
import socket
import socketserver
import threading
from typing import Self


class _Handler(socketserver.StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        request = self.rfile.readline().decode().strip()
        headers = {}
        while line := self.rfile.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        self.server.owner.seen.append((request, headers.get("proxy-authorization", "")))
        status = self.server.owner.status
        self.wfile.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
        if not status.startswith("200"):
            return
        with socket.create_connection(("127.0.0.1", self.server.owner.target)) as there:
            back = threading.Thread(target=_carry, args=(there, self.connection))
            back.start()
            _carry(self.connection, there)
            back.join()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = False
    block_on_close = True
    owner: "ConnectProxy"


class ConnectProxy:
    """A proxy that runs during a ``with`` block.

    Attributes:
        seen: The requests, with their proxy credentials.
        status: The answer to each request.
    """

    def __init__(self, target: int = 0, status: str = "200 Connection established") -> None:
        self.target = target
        self.status = status
        self.seen: list[tuple[str, str]] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
