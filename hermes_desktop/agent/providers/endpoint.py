"""An address with its key and its connections: all requests go through here."""

import contextlib
import threading
from typing import TYPE_CHECKING

from hermes_desktop.agent.providers.base import TimeOuts
from hermes_desktop.agent.providers.failures import CallErrors
from hermes_desktop.agent.providers.shared_tls import CertificatesError, SharedTls
from hermes_desktop.agent.types import CancelSignal, ModelChoice
from hermes_desktop.core.proxies import ProxySettingError, route_to
from hermes_desktop.core.text.odd_characters import first_invalid_character

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from hermes_desktop.agent.providers.answer import Answer
    from hermes_desktop.agent.providers.http_call import Wire


class Endpoint:
    """A client of one address, with the key that belongs to it. Thread-safe.

    Args:
        choice: Address and key; redirects are not followed.
        failures: Builds the errors.
        timeouts: Time-outs of a call.
        tls: Shared with other endpoints.
        transport: In place of the network, for tests.
    """

    def __init__(
        self,
        choice: ModelChoice,
        failures: CallErrors,
        *,
        timeouts: TimeOuts,
        tls: SharedTls,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        self.choice = choice
        self._failures = failures
        self._timeouts = timeouts
        self._tls = tls
        self._transport = transport
        self._idle: Wire | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the idle connection; a later call opens a new one."""
        with self._lock:
            wire, self._idle = self._idle, None
        if wire is not None:
            wire.client.close()

    @contextlib.contextmanager
    def asked(
        self,
        path: str,
        body: bytes | None,
        cancel: CancelSignal,
        patience: TimeOuts | None = None,
        *,
        begins_thinking: bool = False,
    ) -> "Iterator[Answer]":
        """Send a request; it is abandoned if the context is left before its end."""
        # Both load httpx, which only a process that calls a model should pay for.
        from hermes_desktop.agent.providers.answer import Answer  # noqa: PLC0415
        from hermes_desktop.agent.providers.http_call import HttpCall  # noqa: PLC0415

        headers = self._headers()
        wire = self._take_wire()
        url = f"{self.choice.base_url}/{path}"
        call = HttpCall(wire, url, headers, body, self._failures)
        answer = Answer(
            call,
            patience or self._timeouts,
            self._failures,
            cancel,
            begins_thinking=begins_thinking,
        )
        try:
            yield answer
        finally:
            if answer.ended:
                self._give_back(wire)
            else:
                call.give_up()

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            # Compressed pieces would wait for one another.
            "Accept-Encoding": "identity",
            "User-Agent": "hermes-desktop",
        }
        if self.choice.api_key:
            odd = first_invalid_character(self.choice.api_key)
            if odd:
                raise self._failures.unreachable(
                    f"the key cannot be sent, because it holds {odd}",
                    "Copy the key again and set it with `hermes-desktop secrets set`, or in .env.",
                    again=False,
                )
            headers["Authorization"] = f"Bearer {self.choice.api_key}"
        return headers

    def _take_wire(self) -> "Wire":
        from hermes_desktop.agent.providers.http_call import BAD_ADDRESS, Wire  # noqa: PLC0415

        with self._lock:
            wire, self._idle = self._idle, None
        if wire is not None:
            return wire
        try:
            route = route_to(self.choice.base_url)
            self._failures.way = route.note
            return Wire(
                connect_s=self._timeouts.connect,
                write_s=60.0,
                proxy=route.proxy,
                tls=self._tls.context(self.choice.ca_bundle),
                transport=self._transport,
            )
        except ProxySettingError as error:
            raise self._failures.unreachable(error.detail, error.hint, again=False) from error
        except CertificatesError as error:
            raise self._failures.unreachable(
                str(error), "Correct that, or take it away.", again=False
            ) from error
        except ImportError as error:
            raise self._failures.unreachable(
                "the environment names a SOCKS proxy, for which the package socksio is missing",
                "Install socksio beside Hermes Desktop, or name an HTTP proxy in ALL_PROXY.",
                again=False,
            ) from error
        except BAD_ADDRESS as error:
            raise self._failures.unreachable(
                f"the connection cannot be set up ({error})",
                "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY in the environment.",
                again=False,
            ) from error

    def _give_back(self, wire: "Wire") -> None:
        with self._lock:
            if self._idle is None:
                self._idle = wire
                return
        wire.client.close()
