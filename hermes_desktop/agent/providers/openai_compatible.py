"""Asks any endpoint that speaks OpenAI's chat completions, and hands on what it streams."""

import contextlib
import ipaddress
import logging
import random
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hermes_desktop.agent.providers.base import Retries, TimeOuts
from hermes_desktop.agent.providers.completion import encode_json
from hermes_desktop.agent.providers.failures import CallFailedError, Failures
from hermes_desktop.agent.providers.shared_tls import SharedTls
from hermes_desktop.agent.types import CancelSignal, ChatRequest, ModelChoice, StreamEvent
from hermes_desktop.core.log_setup import SecretRedactor

if TYPE_CHECKING:
    import httpx

    from hermes_desktop.agent.providers.answer import Answer
    from hermes_desktop.agent.providers.http_call import Wire
    from hermes_desktop.agent.providers.model_list import ListedModel

log = logging.getLogger(__name__)

_TICK_S = 0.05
_NO_TOOLS = re.compile(
    r"tools?\b.{0,80}(not support|unsupported|unrecognized|unknown|not permitted|not allowed)"
    r"|(not support|unsupported|unrecognized|unknown|extra)\S*.{0,80}\b(tools?|function calling)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What this endpoint accepts; learnt from its refusals."""

    stream: bool = True
    usage: bool = True
    limit_field: str = "max_tokens"
    tools: bool = True

    def after_refusal(self, said: str) -> "_Dialect | None":
        """What to try instead, None when the refusal is about something else."""
        if self.stream and self.usage and re.search(r"stream_options|include_usage", said):
            return replace(self, usage=False)
        if self.limit_field == "max_tokens" and "max_completion_tokens" in said:
            return replace(self, limit_field="max_completion_tokens")
        if self.tools and _NO_TOOLS.search(said):
            return replace(self, tools=False)
        if self.stream and re.search(r"\bstream(ing|ed)?\b", said, re.IGNORECASE):
            return replace(self, stream=False)
        return None


class OpenAICompatibleProvider:
    """A :class:`ChatProvider` over HTTP.

    Args:
        choice: Model, address and key. The key goes to that address and nowhere else; redirects
            are not followed.
        timeouts: Bounds of one call.
        retries: When to call again.
        redactor: Removes secrets from what the endpoint says; learns the key.
        transport: In place of the network, for tests.
        tls: Shared with other providers; None: one of its own.
        random_source: Numbers in [0, 1) for the pauses.
    """

    def __init__(  # noqa: PLR0913 - all but the first are optional
        self,
        choice: ModelChoice,
        *,
        timeouts: TimeOuts | None = None,
        retries: Retries | None = None,
        redactor: SecretRedactor | None = None,
        transport: "httpx.BaseTransport | None" = None,
        tls: SharedTls | None = None,
        random_source: Callable[[], float] = random.random,
    ) -> None:
        self.choice = choice
        self._timeouts = timeouts or TimeOuts()
        self._retries = retries or Retries()
        redactor = redactor or SecretRedactor()
        redactor.learn(choice.api_key)
        self._failures = Failures(choice, redactor)
        self._transport = transport
        self._random = random_source
        self._dialect = _Dialect()
        self._idle: Wire | None = None
        self._tls = tls or SharedTls()
        self._lock = threading.Lock()

    def stream(self, request: ChatRequest, *, cancel: CancelSignal) -> Iterator[StreamEvent]:
        """Ask, and yield what comes; see :meth:`ChatProvider.stream`."""
        failed = 0
        while not cancel.is_set():
            started = False
            try:
                with contextlib.closing(self._attempt(request, cancel)) as events:
                    for event in events:
                        started = True
                        yield event
            except CallFailedError as failure:
                if self._adapt(failure, started=started):
                    continue
                pause = self._pause(failure, failed)
                if started or pause is None or cancel.is_set():
                    raise failure.error from None
                failed += 1
                log.warning(
                    "Asking %s again in %.1f s (%s)", self._failures.host, pause, failure.error.kind
                )
                _wait(pause, cancel)
            else:
                return

    def close(self) -> None:
        """Close the idle connection; a later call opens a new one. Any thread."""
        with self._lock:
            wire, self._idle = self._idle, None
        if wire is not None:
            wire.client.close()

    def models(self, *, cancel: CancelSignal) -> "tuple[ListedModel, ...] | None":
        """The models that the endpoint lists; None: it has no list, or it was cancelled. Blocking.

        Raises:
            ProviderError: It cannot be reached, or refuses to tell.
        """
        try:
            with self._asked("models", None, cancel) as answer:
                body = answer.body()
        except CallFailedError as failure:
            if failure.error.status in {404, 405, 501}:
                return None
            raise failure.error from None
        if body is None:
            return None
        from hermes_desktop.agent.providers.model_list import read_models  # noqa: PLC0415 - httpx

        found = read_models(body)
        if found is None and body.lstrip()[:1] == b"<":
            raise self._failures.nonsense("HTML", body, "text/html").error
        return found

    # ------------------------------------------------------------------------------ one attempt

    def _attempt(self, request: ChatRequest, cancel: CancelSignal) -> Generator[StreamEvent]:
        with self._asked("chat/completions", self._body(request), cancel) as answer:
            yield from answer.events()

    @contextlib.contextmanager
    def _asked(self, path: str, body: bytes | None, cancel: CancelSignal) -> "Iterator[Answer]":
        """A request that is on its way; given up if it is left before its end."""
        # Both load httpx, which only a process that asks a model should pay for.
        from hermes_desktop.agent.providers.answer import Answer  # noqa: PLC0415
        from hermes_desktop.agent.providers.http_call import HttpCall  # noqa: PLC0415

        wire = self._take_wire()
        url = f"{self.choice.base_url}/{path}"
        call = HttpCall(wire, url, self._headers(), body, self._failures)
        answer = Answer(call, self._timeouts, self._failures, cancel)
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
            headers["Authorization"] = f"Bearer {self.choice.api_key}"
        return headers

    def _body(self, request: ChatRequest) -> bytes:
        body: dict[str, Any] = {"model": request.model}
        dialect = self._dialect
        if request.max_tokens is not None:
            body[dialect.limit_field] = request.max_tokens
        if dialect.stream:
            body["stream"] = True
            if dialect.usage:
                body["stream_options"] = {"include_usage": True}
        if request.tools and dialect.tools:
            body["tools"] = request.tools
        # Last, so that a longer conversation repeats all bytes of the shorter one but its end.
        body["messages"] = request.messages
        return encode_json(body)

    def _take_wire(self) -> "Wire":
        from hermes_desktop.agent.providers.http_call import Wire  # noqa: PLC0415

        with self._lock:
            wire, self._idle = self._idle, None
        if wire is not None:
            return wire
        try:
            return Wire(
                connect_s=self._timeouts.connect,
                write_s=60.0,
                direct=_is_loopback(self.choice.base_url),
                tls=self._tls.context(),
                transport=self._transport,
            )
        except (ValueError, ImportError, OSError) as error:
            raise self._failures.unreachable(
                f"the connection cannot be set up ({error})",
                "Check HTTPS_PROXY, ALL_PROXY, NO_PROXY and SSL_CERT_FILE in the environment.",
                again=False,
            ) from error

    def _give_back(self, wire: "Wire") -> None:
        with self._lock:
            if self._idle is None:
                self._idle = wire
                return
        wire.client.close()

    # ---------------------------------------------------------------------------- what comes next

    def _adapt(self, failure: CallFailedError, *, started: bool) -> bool:
        """Whether the refusal was about a field we can leave out."""
        if started or failure.error.status not in {400, 422, 501}:
            return False
        dialect = self._dialect.after_refusal(failure.said)
        if dialect is None:
            return False
        log.info("%s refused a field; asking without it", self._failures.host)
        self._dialect = dialect
        return True

    def _pause(self, failure: CallFailedError, failed: int) -> float | None:
        """Seconds until the next attempt, None when there is none."""
        if not failure.again or failed >= self._retries.count:
            return None
        pause: float = min(self._retries.base_s * 2**failed, self._retries.longest_s)
        pause += pause / 2 * self._random()
        if failure.wait_s is None:
            return pause
        return max(failure.wait_s, pause) if failure.wait_s <= self._retries.longest_s else None


def _wait(seconds: float, cancel: CancelSignal) -> None:
    """Let time pass, but not longer than the person wants."""
    end = time.monotonic() + seconds
    never = threading.Event()
    while not cancel.is_set() and (left := end - time.monotonic()) > 0:
        never.wait(min(_TICK_S, left))


def _is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
