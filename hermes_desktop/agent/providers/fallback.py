"""Fallback over several models: the chosen one first, then the fallback models in order."""

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hermes_desktop.agent.providers.base import ChatProvider
from hermes_desktop.agent.types import (
    CallNote,
    CancelSignal,
    ChatRequest,
    ModelChoice,
    ReplyRestarted,
    StreamEvent,
    ToolCallAnnounced,
)
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import (
    BrokenStreamError,
    CannotReachError,
    ModelRefusedError,
    ProviderError,
)

log = logging.getLogger(__name__)

LEFT_ALONE_S = 60.0
"""How long a failed model is skipped, so that not every step of a turn waits for it."""
LEFT_ALONE_LONG_S = 600.0
"""The same after a refusal that requires an action of the user."""

_FOR_OTHERS = frozenset({"auth", "billing", "rate_limit", "overload", "model_missing", "address"})
_LASTING = frozenset({"auth", "billing", "model_missing", "address"})


class FallbackProvider:
    """A :class:`ChatProvider` made of several. The user is notified which model answers.

    Args:
        providers: The chosen one first.
        clock: Measures how long a failed one is skipped.
        instead_of: Why the first is not the chosen one itself, as a sentence; "" if it is.
    """

    def __init__(
        self, providers: Sequence[ChatProvider], clock: Clock, instead_of: str = ""
    ) -> None:
        self._providers = tuple(providers)
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_last = 0
        self._announced = 0
        self._until: dict[int, float] = {}
        self._untold = instead_of
        self._why_not_the_first = instead_of

    @property
    def choice(self) -> ModelChoice:
        """The model called last, at first the chosen one: the last reply came from it."""
        with self._lock:
            return self._providers[self._asked_last].choice

    def stream(self, request: ChatRequest, *, cancel: CancelSignal) -> Iterator[StreamEvent]:
        """Call one after the other; see :meth:`ChatProvider.stream`."""
        first_error: ProviderError | None = None
        why = self._untold
        for place in self._order():
            begun = False
            try:
                for event in self._ask(place, request, cancel):
                    if not begun and not isinstance(
                        event, CallNote | ToolCallAnnounced | ReplyRestarted
                    ):
                        begun = True
                        yield from self._told(place, why)
                    yield event
            except ProviderError as error:
                if begun or cancel.is_set() or not may_fall_back(error):
                    raise
                self._leave_alone(place, error)
                first_error = first_error or error
                why = why or error.title
            else:
                return
        if first_error is not None:
            with self._lock:
                self._asked_last = self._announced
            raise self._all_failed(first_error)

    def close(self) -> None:
        """Close all of them."""
        for provider in self._providers:
            provider.close()

    def _ask(self, place: int, request: ChatRequest, cancel: CancelSignal) -> Iterator[StreamEvent]:
        provider = self._providers[place]
        with self._lock:
            self._asked_last = place
        choice = provider.choice
        own = replace(request, model=choice.model, max_tokens=choice.max_tokens)
        yield from provider.stream(own, cancel=cancel)

    def _order(self) -> list[int]:
        """Return those that have not failed recently, then the others: at least one is called."""
        now = self._clock.monotonic()
        with self._lock:
            waiting = {place for place, until in self._until.items() if until > now}
        places = range(len(self._providers))
        return [p for p in places if p not in waiting] + [p for p in places if p in waiting]

    def _told(self, place: int, why: str) -> Iterator[CallNote]:
        """Notify the user which model answers, if it has changed."""
        with self._lock:
            before, self._announced = self._announced, place
            self._until.pop(place, None)
            first_time, self._untold = bool(self._untold), ""
        if place == before and not first_time:
            return
        choice = self._providers[place].choice
        with self._lock:
            why = why or (self._why_not_the_first if place else "")
        log.warning("%s at %s answers now: %s", choice.model, choice.provider, why)
        reason = f": {why}" if why else " again."
        yield CallNote(f"{choice.model} ({choice.who}) answers{reason}", lasting=True)

    def _leave_alone(self, place: int, error: ProviderError) -> None:
        seconds = LEFT_ALONE_LONG_S if error.reason in _LASTING else LEFT_ALONE_S
        with self._lock:
            self._until[place] = self._clock.monotonic() + seconds
            if place == 0:
                self._why_not_the_first = error.title
        log.warning("%s did not answer: %s", self._providers[place].choice.model, error.title)

    def _all_failed(self, error: ProviderError) -> ProviderError:
        count = len(self._providers) - 1
        others = "The fallback model" if count == 1 else f"The {count} fallback models"
        error.detail = f"{error.detail} {others} did not answer either."
        return error


def may_fall_back(error: ProviderError) -> bool:
    """Return whether another model may succeed: this one is unavailable, at least for now."""
    if isinstance(error, CannotReachError | BrokenStreamError):
        return True
    server = error.status is not None and error.status >= 500  # noqa: PLR2004
    return isinstance(error, ModelRefusedError) and (server or error.reason in _FOR_OTHERS)
