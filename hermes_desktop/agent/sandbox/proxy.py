"""The filtering proxy of a closed sandbox: granted hosts by name, nothing else.

The listening socket is made inside the sandbox, whose network has only a loopback; this program
accepts on it from outside. Names are resolved here, and only public addresses are connected to.
TLS is not intercepted: a granted host can receive data.
"""

import contextlib
import fnmatch
import logging
import selectors
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import urlsplit

from hermes_desktop.core.public_addresses import is_public, resolve

log = logging.getLogger(__name__)

PORT = 3128
"""The port inside; free there, since nothing else listens in a new network."""
_MOST_AT_ONCE = 64
_MOST_HEAD = 65536
_CHUNK = 65536
_CONNECT_S, _HEAD_S, _IDLE_S = 30.0, 30.0, 600.0
_MOST_DENIED = 20
_HTTP, _HTTPS = 80, 443
_DROPPED = ("proxy-", "connection:", "keep-alive:", "host:")

Resolver = Callable[[str, int], Iterable[str]]


def is_listed(host: str, hosts: Iterable[str]) -> bool:
    """Return whether a host is one of some hosts; ``*.example.org`` includes subdomains."""
    return any(
        host == each
        or (each.startswith("*.") and (host == each[2:] or fnmatch.fnmatchcase(host, each)))
        for each in hosts
    )


class FilteringProxy:
    """Serves one command until it is closed. Threads of its own; any thread may close it.

    Args:
        hosts: The granted hosts; ``*.example.org`` includes subdomains.
        everything: Every public host is granted.
        resolver: Resolves names.
        may_connect: Returns whether an address may be connected to.
    """

    def __init__(
        self,
        hosts: Iterable[str],
        *,
        everything: bool = False,
        resolver: Resolver = resolve,
        may_connect: Callable[[str], bool] = is_public,
    ) -> None:
        self._hosts = tuple(each.lower().rstrip(".") for each in hosts)
        self._everything = everything
        self._resolve = resolver
        self._may_connect = may_connect
        self._denied: dict[str, None] = {}
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._closed = False
        self._open: set[socket.socket] = set()

    @contextlib.contextmanager
    def serving(self) -> Iterator[socket.socket]:
        """Serve during a ``with`` block; yields the end of the socket pair for the sandbox."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._keep(ours)
            threading.Thread(
                target=self._serve, args=(ours,), name="sandbox proxy", daemon=True
            ).start()
            try:
                yield theirs
            finally:
                self.close()

    def denied(self) -> frozenset[str]:
        """Return the hosts that were refused so far."""
        with self._lock:
            return frozenset(self._denied)

    def close(self) -> None:
        """End every connection."""
        with self._lock:
            self._closed = True
            still = list(self._open)
        for each in still:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits on it

    def _keep(self, each: socket.socket) -> None:
        with self._lock:
            self._open.add(each)
            closed = self._closed
        if closed:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _kept(self, each: socket.socket) -> Iterator[socket.socket]:
        with each:
            self._keep(each)
            try:
                yield each
            finally:
                with self._lock:
                    self._open.discard(each)

    def _serve(self, ours: socket.socket) -> None:
        try:
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        except OSError:
            return
        finally:
            with self._lock:
                self._open.discard(ours)
        if not descriptors:
            return
        with self._kept(socket.socket(fileno=descriptors[0])) as listening:
            while not self._closed:
                try:
                    inside, _ = listening.accept()
                except OSError:
                    return
                self._places.acquire()
                threading.Thread(
                    target=self._connection, args=(inside,), name="sandbox connection", daemon=True
                ).start()

    def _connection(self, inside: socket.socket) -> None:
        try:
            with self._kept(inside):
                inside.settimeout(_HEAD_S)
                self._answer(inside)
        except (OSError, ValueError) as error:
            log.debug("A connection of a sandbox ended: %s", error)
        finally:
            self._places.release()

    def _answer(self, inside: socket.socket) -> None:
        head, rest = _head(inside)
        method, target, lines = _parsed(head)
        if method == "CONNECT":
            host, port = _authority(target, _HTTPS)
            first = rest
        else:
            parts = urlsplit(target)
            if parts.scheme != "http" or not parts.hostname or parts.username is not None:
                inside.sendall(_reply("400 Bad Request", "Only http and CONNECT are served."))
                return
            host, port = parts.hostname, parts.port or _HTTP
            first = _request(method, parts.path or "/", parts.query, parts.netloc, lines) + rest
        outside = self._reached(host.lower().rstrip("."), port, inside)
        if outside is None:
            return
        with self._kept(outside):
            if method == "CONNECT":
                inside.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            outside.sendall(first)
            _carry(inside, outside)

    def _reached(self, host: str, port: int, inside: socket.socket) -> socket.socket | None:
        """Connect to a granted host; otherwise answer why not and return None."""
        if not self._is_granted(host):
            with self._lock:
                if len(self._denied) < _MOST_DENIED:
                    self._denied[host] = None
            inside.sendall(_reply("403 Forbidden", f"{host} is not granted to this command."))
            return None
        try:
            addresses = list(self._resolve(host, port))
            allowed = [each for each in addresses if self._may_connect(each)]
            if not allowed:
                inside.sendall(_reply("403 Forbidden", f"{host} has no public address."))
                return None
            # The address itself: a second resolution could return another one.
            return socket.create_connection((allowed[0], port), timeout=_CONNECT_S)
        except OSError as error:
            inside.sendall(_reply("502 Bad Gateway", f"{host} cannot be reached: {error}"))
            return None

    def _is_granted(self, host: str) -> bool:
        return self._everything or is_listed(host, self._hosts)


def _head(inside: socket.socket) -> tuple[bytes, bytes]:
    """Read up to the empty line; return the head, and what follows it."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = inside.recv(_CHUNK)
        if not chunk or len(data) > _MOST_HEAD:
            raise ValueError("no request")
        data += chunk
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _parsed(head: bytes) -> tuple[str, str, list[str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    return method, target, lines


def _authority(text: str, usual: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.username is not None:
        raise ValueError("no host")
    return parts.hostname, parts.port or usual


def _request(method: str, path: str, query: str, host: str, lines: Iterable[str]) -> bytes:
    """Return the head for the host itself, one request for one connection."""
    kept = [each for each in lines if not each.lower().startswith(_DROPPED)]
    target = f"{path}?{query}" if query else path
    head = [f"{method} {target} HTTP/1.1", f"Host: {host}", *kept, "Connection: close"]
    return ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")


def _reply(status: str, text: str) -> bytes:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


def _carry(inside: socket.socket, outside: socket.socket) -> None:
    """Pass bytes both ways until both ends have finished."""
    for each in (inside, outside):
        each.settimeout(_IDLE_S)
    with selectors.DefaultSelector() as selector:
        selector.register(inside, selectors.EVENT_READ, outside)
        selector.register(outside, selectors.EVENT_READ, inside)
        while selector.get_map():
            ready = selector.select(_IDLE_S)
            if not ready:
                return
            for key, _ in ready:
                source: socket.socket = key.fileobj  # type: ignore[assignment]  # as registered
                chunk = source.recv(_CHUNK)
                if chunk:
                    key.data.sendall(chunk)
                    continue
                selector.unregister(source)
                with contextlib.suppress(OSError):
                    key.data.shutdown(socket.SHUT_WR)
