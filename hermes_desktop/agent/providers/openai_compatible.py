"""Provider for endpoints with OpenAI's chat completions, which passes on what they stream."""

import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hermes_desktop.agent.providers.base import Retries, TimeOuts
from hermes_desktop.agent.providers.completion import encode_json
from hermes_desktop.agent.providers.endpoint import Dialect, DialectCache, Endpoint
from hermes_desktop.agent.providers.failures import CallErrors, CallFailedError
from hermes_desktop.agent.providers.shared_tls import SharedTls
from hermes_desktop.agent.providers.tolerances import ENDINGS
from hermes_desktop.agent.thinking import wire_fields as thinking_fields
from hermes_desktop.agent.types import (
    CallNote,
    CancelSignal,
    ChatRequest,
    Finished,
    ModelChoice,
    ReasoningDelta,
    ReplyRestarted,
    StreamEvent,
    TextDelta,
    TextRetracted,
    ToolCallAnnounced,
)
from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import ProviderError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.text.thinking_split import BEGINS_IN_THOUGHT

if TYPE_CHECKING:
    import httpx

    from hermes_desktop.agent.providers.model_list import ListedModel

log = logging.getLogger(__name__)

_CUT_OFF = "The answer was cut off: it reached the maximum number of tokens."
_ONLY_THOUGHT = (
    "The model used all its tokens for thinking. Raise model.max_tokens, or lower the "
    "thinking level."
)
_FILTERED = "The provider's filter cut off the answer."
_SENT_AS_THINKING = "The server sent this whole reply as thinking."
NO_ANSWER = "[The model was thinking but wrote no answer.]"
_FAILED = frozenset(each.reason for each in ENDINGS if each.means == "failed")


class ReplyCheck:
    """A filter that passes on the events of one attempt, and checks its end.

    Args:
        failures: Builds the errors.
        insist: Treat an answer without text as a failure that is retried.
    """

    def __init__(self, failures: CallErrors, *, insist: bool) -> None:
        self._failures = failures
        self._insist = insist
        self._said = False
        self._thinking: list[ReasoningDelta] = []

    def passed(self, event: StreamEvent) -> Iterator[StreamEvent]:
        """Yield the event, preceded by notes for the user.

        Raises:
            CallFailedError: The answer ended without text, or the server failed to finish it.
        """
        if isinstance(event, TextDelta):
            self._said = self._said or bool(event.text.strip())
        elif isinstance(event, ReasoningDelta):
            self._thinking.append(event)
        elif isinstance(event, TextRetracted):
            self._said = False
            self._thinking.append(ReasoningDelta(event.text, marked=True))
        elif isinstance(event, Finished):
            yield from self._end(event)
            return
        yield event

    def _end(self, finished: Finished) -> Iterator[CallNote | Finished]:
        reason = finished.finish_reason
        done = self._said or bool(finished.tool_calls)
        if reason.lower() in _FAILED:
            raise self._failures.ended_by_server(reason)
        if reason == "content_filter":
            if not done:
                raise self._failures.filtered()
            yield CallNote(_FILTERED, lasting=True)
        elif reason == "length":
            if not done and self._thinking:
                yield CallNote(_ONLY_THOUGHT, lasting=True)
                finished = replace(finished, instead=NO_ANSWER)
            elif self._said and not finished.tool_calls:
                yield CallNote(_CUT_OFF, lasting=True)
        elif not done and self._insist:
            raise self._failures.empty(thought=bool(self._thinking))
        elif not done and self._thinking:
            # Some servers send whole replies as thinking; text between marks is never a reply.
            apart = "".join(each.text for each in self._thinking if not each.marked).strip()
            if apart:
                yield CallNote(_SENT_AS_THINKING, lasting=True)
            finished = replace(finished, instead=apart or NO_ANSWER)
        yield finished


def is_empty(failure: CallFailedError) -> bool:
    """Return whether the failure is an answer without text."""
    return failure.error.reason == "empty"


_TICK_S = 0.05
_QUICK = TimeOuts(connect=3.0, first_byte=3.0, between=2.0)
_WORTH_TELLING_S = 1.0
"""A shorter pause is over before a note could be read."""


class OpenAICompatibleProvider:
    """A :class:`ChatProvider` over HTTP.

    Args:
        choice: Model, address and key. The key is sent to that address and nowhere else; redirects
            are not followed.
        timeouts: Time-outs of one call.
        retries: When to retry.
        redactor: Removes secrets from the endpoint's messages; learns the key.
        transport: In place of the network, for tests.
        tls: Shared with other providers; None for a separate one.
        dialects: What was learned about endpoints, shared in the same way.
        clock: For the announced time of a retry.
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
        dialects: DialectCache | None = None,
        clock: Clock | None = None,
        random_source: Callable[[], float] = random.random,
    ) -> None:
        self.choice = choice
        self._retries = retries or Retries()
        redactor = redactor or SecretRedactor()
        redactor.learn(choice.api_key)
        self._failures = CallErrors(choice, redactor)
        self._endpoint = Endpoint(
            choice,
            self._failures,
            timeouts=timeouts or _patience(choice),
            tls=tls or SharedTls(),
            transport=transport,
        )
        self._random = random_source
        self._dialects = dialects or DialectCache()
        self._clock = clock or SystemClock()

    def stream(self, request: ChatRequest, *, cancel: CancelSignal) -> Iterator[StreamEvent]:
        """Send the request, and yield the events; see :meth:`ChatProvider.stream`."""
        failed = 0
        insist = True
        while not cancel.is_set():
            started = False
            try:
                with contextlib.closing(self._attempt(request, cancel, insist=insist)) as events:
                    for event in events:
                        # A call that was only announced is announced again: nothing is done yet.
                        started = started or not isinstance(event, ToolCallAnnounced)
                        yield event
            except CallFailedError as failure:
                if insist and is_empty(failure):
                    log.info("%s sent no text; asking again", self._failures.host)
                    insist = False
                    yield ReplyRestarted()
                    continue
                if not started and self._adapt(failure):
                    continue
                pause = None if started else self._pause(failure, failed)
                if pause is None or cancel.is_set():
                    raise self._in_the_end(failure, cancel) from None
                failed += 1
                yield from self._waited(failure, pause, cancel)
            else:
                return

    def _waited(
        self, failure: CallFailedError, pause: float, cancel: CancelSignal
    ) -> Iterator[CallNote]:
        """Pause before the next attempt; the user is notified of a long pause."""
        log.warning(
            "Asking %s again in %.1f s (%s)", self._failures.host, pause, failure.error.kind
        )
        note = _told_pause(self.choice.who, failure, pause, self._clock)
        if note:
            yield CallNote(note)
        _wait(pause, cancel)
        if note:
            yield CallNote("")

    def _in_the_end(self, failure: CallFailedError, cancel: CancelSignal) -> ProviderError:
        """Return the error for the user; for a missing model, with similar names."""
        error = failure.error
        if error.reason != "model_missing" or cancel.is_set():
            return error
        from hermes_desktop.agent.providers.model_list import nearest  # noqa: PLC0415 - httpx

        try:
            listed = self.models(cancel=cancel, patience=_QUICK)
        except ProviderError:
            return error
        names = {each.id for each in listed or ()}
        near = nearest(self.choice.model, names)
        if near and self.choice.model not in names:
            names_near = " or ".join(near)
            error.hint = f"Did you mean {names_near}? Choose it with /model or as model.default."
        return error

    def close(self) -> None:
        """Close the idle connection; a later call opens a new one. Thread-safe."""
        self._endpoint.close()

    def models(
        self, *, cancel: CancelSignal, patience: TimeOuts | None = None
    ) -> "tuple[ListedModel, ...] | None":
        """Return the models that the endpoint lists; None: no list, or cancelled. Blocking.

        Args:
            cancel: Cancels the call.
            patience: In place of the time-outs of a call.

        Raises:
            ProviderError: It cannot be reached, or refuses.
        """
        try:
            with self._endpoint.asked("models", None, cancel, patience) as answer:
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

    def _attempt(
        self, request: ChatRequest, cancel: CancelSignal, *, insist: bool
    ) -> Generator[StreamEvent]:
        look = ReplyCheck(self._failures, insist=insist)
        begins_thinking = self._begins_thinking()
        asked = self._endpoint.asked(
            "chat/completions", self._body(request), cancel, begins_thinking=begins_thinking
        )
        with asked as answer:
            for event in answer.events():
                yield from look.passed(event)
            if answer.closed_alone not in {None, begins_thinking}:
                learnt = replace(self._dialect(), begins_thinking=answer.closed_alone)
                self._dialects.learn(self.choice.base_url, self.choice.model, learnt)

    def _begins_thinking(self) -> bool:
        """Return whether the text begins with thinking: as observed, or by the model's name."""
        known = self._dialect().begins_thinking
        return BEGINS_IN_THOUGHT.search(self.choice.model) is not None if known is None else known

    def _body(self, request: ChatRequest) -> bytes:
        body: dict[str, Any] = {"model": request.model}
        dialect = self._dialect()
        if request.max_tokens is not None:
            most = dialect.most_tokens or request.max_tokens
            body[dialect.limit_field] = min(request.max_tokens, most)
        if dialect.reasoning:
            body |= thinking_fields(self.choice)
        if self.choice.service_tier and dialect.tiers:
            body["service_tier"] = self.choice.service_tier
        if dialect.stream:
            body["stream"] = True
            if dialect.usage:
                body["stream_options"] = {"include_usage": True}
        if request.tools and dialect.tools:
            body["tools"] = request.tools
        # Last, so that a longer conversation repeats all bytes of the shorter one but its end.
        body["messages"] = request.messages
        return encode_json(body)

    # ---------------------------------------------------------------------------- after a failure

    def _dialect(self) -> Dialect:
        return self._dialects.of(self.choice.base_url, self.choice.model)

    def _adapt(self, failure: CallFailedError) -> bool:
        """Adapt to a refusal of a field that can be omitted; return whether it was one."""
        if failure.error.status not in {400, 404, 422, 501}:
            return False
        dialect = self._dialect().after_refusal(failure.said)
        if dialect is None:
            return False
        log.info("%s refused a field; asking without it", self._failures.host)
        self._dialects.learn(self.choice.base_url, self.choice.model, dialect)
        return True

    def _pause(self, failure: CallFailedError, failed: int) -> float | None:
        return _pause_before_retry(failure, failed, self._retries, self._random())


def _patience(choice: ModelChoice) -> TimeOuts:
    usual = TimeOuts()
    return replace(
        usual,
        first_byte=choice.request_timeout_s or usual.first_byte,
        between=choice.stale_timeout_s or usual.between,
    )


def _wait(seconds: float, cancel: CancelSignal) -> None:
    """Wait for a time, or until cancelled."""
    end = time.monotonic() + seconds
    never = threading.Event()
    while not cancel.is_set() and (left := end - time.monotonic()) > 0:
        never.wait(min(_TICK_S, left))


def _pause_before_retry(
    failure: CallFailedError, failed: int, retries: Retries, chance: float
) -> float | None:
    """Return the seconds until the next attempt, None when there is none.

    Args:
        failure: Why the last one failed.
        failed: How many retries there have been already.
        retries: How often, and how long.
        chance: A number in [0, 1), so that many refused clients do not retry at the same time.
    """
    if not failure.again or failed >= retries.count:
        return None
    pause: float = min(retries.base_s * 2**failed, retries.longest_s)
    pause += pause / 2 * chance
    if failure.wait_s is None:
        return pause
    return max(failure.wait_s, pause) if failure.wait_s <= retries.longest_asked_s else None


def _told_pause(name: str, failure: CallFailedError, pause: float, clock: Clock) -> str:
    """Return the note about a pause for the user; "" for a short one.

    Args:
        name: The provider's name.
        failure: Why there is a pause.
        pause: How long it is, seconds.
        clock: Determines when it ends.
    """
    if pause < _WORTH_TELLING_S:
        return ""
    until = clock.now() + timedelta(seconds=pause)
    # For a pause of a few seconds the minute is too coarse.
    when = f"at {until:%H:%M}" if pause >= 60 else f"at {until:%H:%M:%S}"  # noqa: PLR2004
    if failure.wait_s is not None and failure.wait_s >= _WORTH_TELLING_S:
        return f"{name} asks to wait {_in_words(pause)}; retrying {when}."
    return f"{failure.error.title} Retrying {when}."


def _in_words(pause: float) -> str:
    minutes, seconds = divmod(round(pause), 60)
    if not minutes:
        return f"{seconds} s"
    return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
