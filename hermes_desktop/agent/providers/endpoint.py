"""An address with its key, its connections and what it accepts: all requests go through here."""

import contextlib
import re
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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


_LACKS = r"(not support|unsupported|unrecognized|unknown|not permitted|not allowed|not available)"
_LIMIT = re.compile(
    r"(?:at most|less than or equal to|maximum(?: value)? (?:is|of)|<=)\s*(\d{2,7})"
)
_LIMIT_NAMES = re.compile(r"max_(completion_)?tokens", re.IGNORECASE)


def _lacks(what: str) -> re.Pattern[str]:
    """Return a pattern that finds a sentence saying that something is not supported."""
    return re.compile(
        rf"no endpoints .{{0,20}}support {what}|{what}\b.{{0,80}}{_LACKS}"
        rf"|({_LACKS}|extra)\S*.{{0,80}}\b{what}\b",
        re.IGNORECASE | re.DOTALL,
    )


_NO_TOOLS = _lacks(r"(tools?|function calling)")
_NO_TIERS = re.compile(r"service_tier")
_NO_STREAM = re.compile(r"\bstream(ing|ed)?\b", re.IGNORECASE)
_NO_REASONING = _lacks(r"reasoning(_effort|\.effort)?")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The features that an endpoint accepts.

    Attributes:
        stream: Answers piece by piece.
        usage: Counts tokens at the end of a stream.
        limit_field: Its name for the maximum number of tokens of an answer.
        most_tokens: The greatest such number it accepts; None: unknown.
        tools: Tools can be passed to the model.
        reasoning: The amount of thinking can be set.
        tiers: It can be asked to answer faster.
        begins_thinking: Its text begins with thinking, whose opening mark the chat template wrote;
            None: not known yet.
    """

    stream: bool = True
    usage: bool = True
    limit_field: str = "max_tokens"
    most_tokens: int | None = None
    tools: bool = True
    reasoning: bool = True
    tiers: bool = True
    begins_thinking: bool | None = None

    def after_refusal(self, said: str) -> "Dialect | None":
        """Return what to try instead, None when the refusal is about something else."""
        if self.stream and self.usage and re.search(r"stream_options|include_usage", said):
            return replace(self, usage=False)
        if _LIMIT_NAMES.search(said) and (other := self._with_other_limit(said)) is not None:
            return other
        for field, does in (
            ("reasoning", _NO_REASONING),
            ("tiers", _NO_TIERS),
            ("tools", _NO_TOOLS),
            ("stream", _NO_STREAM),
        ):
            if getattr(self, field) and does.search(said):
                without: dict[str, Any] = {field: False}
                return replace(self, **without)
        return None

    def _with_other_limit(self, said: str) -> "Dialect | None":
        if self.limit_field == "max_tokens" and "max_completion_tokens" in said:
            return replace(self, limit_field="max_completion_tokens")
        limit = _LIMIT.search(said)
        if limit is not None and (self.most_tokens or 10**9) > int(limit[1]):
            return replace(self, most_tokens=int(limit[1]))
        return None


class DialectCache:
    """What was learned about endpoints, shared by all providers. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Dialect] = {}

    def of(self, base_url: str, model: str) -> Dialect:
        """Return what an endpoint accepts for a model; everything, until it refused something."""
        with self._lock:
            return self._known.get((base_url, model), Dialect())

    def learn(self, base_url: str, model: str, dialect: Dialect) -> None:
        """Remember what an endpoint accepts."""
        with self._lock:
            self._known[base_url, model] = dialect


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
                    f"the key cannot be sent, because it contains {odd}",
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
                str(error), "Correct or remove it.", again=False
            ) from error
        except ImportError as error:
            raise self._failures.unreachable(
                "the environment names a SOCKS proxy, which requires the package socksio",
                "Install socksio for Hermes Desktop, or set an HTTP proxy in ALL_PROXY.",
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
