"""One HTTP request on its own thread, so that the caller can abandon it at any time.

A blocking read cannot be interrupted in any other way: closing a socket does not wake the thread
that reads from it. Here the reading thread is woken by shutting the socket down. A thread that
hangs where there is no socket yet (name lookup, connecting) is left to its own time-out and sends
nothing afterwards.
"""

import contextlib
import logging
import queue
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from hermes_desktop.agent.bounded_decoding import UndecodableError, decoded
from hermes_desktop.agent.providers.failures import CallErrors, CallFailedError
from hermes_desktop.agent.providers.shared_tls import issuer_of

log = logging.getLogger(__name__)

BAD_ADDRESS = (httpx.InvalidURL, ValueError, OSError)
"""Exceptions raised when connections to an unusable address are set up."""
_WAITING_PIECES = 256
_TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class Head:
    """Status and header fields of a response."""

    status: int
    headers: Mapping[str, str]

    @property
    def wait_s(self) -> float | None:
        """``Retry-After`` in seconds from now, None when it is missing or invalid."""
        return _retry_after(self.headers.get("retry-after", ""))


@dataclass(frozen=True, slots=True)
class End:
    """The response ended as announced."""


Item = Head | bytes | End | CallFailedError


class _GivenUpError(Exception):
    """The request was abandoned."""


class Wire:
    """Connections to one endpoint, used by one call at a time.

    Args:
        connect_s: How long connecting may take, seconds.
        write_s: How long one write may take, seconds.
        proxy: Address of the proxy to use; None for a direct connection.
        tls: Context for HTTPS.
        transport: In place of the network.
    """

    def __init__(
        self,
        *,
        connect_s: float,
        write_s: float,
        proxy: str | None,
        tls: ssl.SSLContext,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        # A user who wants to be hidden behind a proxy is never led past it, not even for a check.
        self.unhidden = proxy is None
        # Waiting for bytes is bounded by the reader of the queue, which knows what it waits for.
        timeout = httpx.Timeout(None, connect=connect_s, write=write_s)
        self.client = httpx.Client(
            timeout=timeout, trust_env=False, proxy=proxy, verify=tls, transport=transport
        )
        self.given_up = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._users = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Count a call that uses the connections."""
        with self._lock:
            self._users += 1

    def end(self) -> None:
        """Count a call that has ended; abandoned connections are closed."""
        with self._lock:
            self._users -= 1
            close = self.given_up.is_set() and not self._users
        if close:
            self.client.close()

    def noticed(self, event: str, info: Mapping[str, Any]) -> None:
        """Trace the transport's steps; record the sockets it opens."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            found = info["return_value"].get_extra_info("socket")
            if isinstance(found, socket.socket):
                with self._lock:
                    self._sockets.add(found)
                if self.given_up.is_set():
                    self.give_up()
        # Here, and not earlier, the transport closes what it opened when this is raised.
        if self.given_up.is_set() and event.endswith("send_request_headers.started"):
            raise _GivenUpError

    def give_up(self) -> None:
        """Abandon the connections: wake their readers, and have them closed. Never blocks."""
        with self._lock:
            self.given_up.set()
            in_use, sockets = self._users > 0, tuple(self._sockets)
        if not in_use:
            self.client.close()
            return
        for each in sockets:
            # Not the method of SSLSocket: that one takes the TLS state away from the reader.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)


class HttpCall:
    """A request that runs on a daemon thread; received items are taken with :meth:`take`.

    Without a body it is a GET, else a POST.
    """

    def __init__(
        self,
        wire: Wire,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        failures: CallErrors,
    ) -> None:
        self._wire = wire
        self._failures = failures
        self._items: queue.Queue[Item] = queue.Queue(_WAITING_PIECES)
        self._request = (url, dict(headers), body)
        wire.begin()
        threading.Thread(target=self._run, name="model-call", daemon=True).start()

    def take(self, seconds: float) -> Item | None:
        """Return the next item, or None when none was received in time."""
        try:
            return self._items.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None

    def give_up(self) -> None:
        """Abandon the request; its connections are closed. Never blocks."""
        self._wire.give_up()

    def _run(self) -> None:
        try:
            self._exchange()
        except _GivenUpError:
            log.debug("A request was given up before it was sent")
        except Exception as error:  # noqa: BLE001 - raised in the waiting thread
            if not self._wire.given_up.is_set():
                self._put(self._told(error))
        finally:
            self._wire.end()

    def _exchange(self) -> None:
        url, headers, body = self._request
        extensions = {"trace": self._wire.noticed}
        with self._wire.client.stream(
            "GET" if body is None else "POST",
            url,
            headers=headers,
            content=body,
            extensions=extensions,
        ) as response:
            self._put(Head(response.status_code, response.headers))
            for piece in decoded(response):
                self._put(piece)
        self._put(End())

    def _told(self, error: Exception) -> CallFailedError:
        for cause in _causes(error):
            if isinstance(cause, ssl.SSLCertVerificationError):
                parts = urlsplit(self._request[0])
                look = self._wire.unhidden and parts.hostname
                issuer = issuer_of(parts.hostname or "", parts.port or 443) if look else ""
                return _told_of_certificate(cause, issuer, self._failures)
        return _told(error, self._failures)

    def _put(self, item: Item) -> None:
        while not self._wire.given_up.is_set():
            with contextlib.suppress(queue.Full):
                self._items.put(item, timeout=_TICK_S)
                return
        raise _GivenUpError


def _told(error: Exception, failures: CallErrors) -> CallFailedError:
    """Describe a transport's exception. Its own text is used only if it cannot contain the key."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError):
            return _told_of_tls(cause, failures)
        if isinstance(cause, socket.gaierror):
            return failures.unreachable(f"the host does not exist ({cause.strerror})")
        if isinstance(cause, ConnectionRefusedError):
            return failures.unreachable("the server refused the connection")
    if isinstance(error, httpx.ReadError | httpx.WriteError | httpx.RemoteProtocolError):
        return failures.broken("the connection was closed before the reply was complete")
    if isinstance(error, UndecodableError):
        return failures.broken("the response cannot be decompressed", again=False)
    return _told_of_connecting(error, failures)


def _told_of_certificate(
    error: ssl.SSLCertVerificationError, issuer: str, failures: CallErrors
) -> CallFailedError:
    reason = error.verify_message.rstrip(".")
    by = f"; it was issued by “{issuer}”" if issuer else ""
    about_name = "mismatch" in reason.lower()
    about_time = "expired" in reason or "not yet valid" in reason
    if about_name:
        hint = "In model.base_url, use the host name for which the certificate was issued."
    elif about_time:
        hint = "Its owner has to renew it. Also check the clock of this machine."
    else:
        hint = (
            "If you trust the issuer, set model.ca_bundle in config.yaml, or SSL_CERT_FILE, "
            "to the file with its certificate."
        )
    return failures.distrusted(f"{reason}{by}", hint)


def _told_of_tls(error: ssl.SSLError, failures: CallErrors) -> CallFailedError:
    return failures.unreachable(
        f"an encrypted connection could not be established ({error.reason or error})",
        "Check whether the address in model.base_url should begin with http or https.",
        again=False,
    )


def _told_of_connecting(error: Exception, failures: CallErrors) -> CallFailedError:
    if isinstance(error, httpx.ProxyError):
        return failures.unreachable(
            f"the proxy refused the connection ({error})",
            "Check HTTPS_PROXY and NO_PROXY in the environment.",
            again=False,
        )
    if isinstance(error, httpx.TimeoutException):
        return failures.unreachable("connecting took too long")
    if isinstance(error, httpx.ConnectError):
        return failures.unreachable(f"the connection could not be established ({error})")
    # The remaining errors are about the request itself and may quote its headers.
    log.error("A model call failed with %s", type(error).__name__)
    return failures.unreachable(
        f"the request could not be sent ({type(error).__name__})",
        "Check model.base_url and the key for invalid characters.",
        again=False,
    )


def _causes(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain


def _retry_after(value: str) -> float | None:
    value = value.strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            from email.utils import parsedate_to_datetime  # noqa: PLC0415 - seldom

            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return seconds if 0 <= seconds < float("inf") else 0.0 if seconds < 0 else None
