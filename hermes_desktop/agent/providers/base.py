"""The provider interface of the agent, and one request through it with its reply."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from hermes_desktop.agent.types import (
    CallNote,
    CancelSignal,
    ChatRequest,
    Finished,
    ModelChoice,
    NoteListener,
    ReasoningDelta,
    ReplyRestarted,
    StreamCallback,
    StreamEvent,
    TextDelta,
    TextRetracted,
    ToolCallAnnounced,
)
from hermes_desktop.core.errors import ProviderError


class ChatProvider(Protocol):
    """A model provider, which answers a list of messages piece by piece."""

    @property
    def choice(self) -> ModelChoice:
        """The model that answers, and its address."""
        ...

    def stream(self, request: ChatRequest, *, cancel: CancelSignal) -> Iterator[StreamEvent]:
        """Send the request, and yield the events. Blocking; on the thread of the turn.

        The last event is ``Finished``. When ``cancel`` is set the iterator ends early, without
        ``Finished``, within a fraction of a second. Closing the iterator abandons the call, too.

        Raises:
            ProviderError: It did not answer, or broke off; texts yielded before remain valid.
        """
        ...

    def close(self) -> None:
        """Close idle connections; a later call opens new ones. Thread-safe."""
        ...


@dataclass(frozen=True, slots=True)
class TimeOuts:
    """Time-outs of the parts of a call, in seconds.

    Attributes:
        connect: Until the connection is established.
        first_byte: From sending until the first byte of the answer; a model on a small machine
            processes a long conversation for minutes before it answers.
        between: Between two pieces of the answer.
        after_end: For what may follow the end of the text (usage, end mark).
    """

    connect: float = 10.0
    first_byte: float = 300.0
    between: float = 120.0
    after_end: float = 3.0


@dataclass(frozen=True, slots=True)
class Retries:
    """How failed calls are retried, before any part of the reply was passed on.

    Attributes:
        count: The number of retries.
        base_s: First pause; doubled each time, plus up to half of it at random.
        longest_s: Longest pause of our own.
        longest_asked_s: Longest pause that an endpoint may request; for a longer one an error is
            reported to the user instead.
    """

    count: int = 3
    base_s: float = 0.5
    longest_s: float = 30.0
    longest_asked_s: float = 120.0


log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class Reply:
    """The reply of the provider.

    Attributes:
        finished: The closing event, None when the reply is incomplete.
        error: Why it is incomplete, None when it is complete or was stopped by the user.
    """

    finished: Finished | None = None
    error: ProviderError | None = None
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text received."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        """All thinking received."""
        return "".join(self._reasoning)

    def take(
        self, event: TextDelta | ReasoningDelta | TextRetracted | ReplyRestarted | Finished
    ) -> None:
        """Add one event to the reply."""
        if isinstance(event, TextDelta):
            self._text.append(event.text)
        elif isinstance(event, ReplyRestarted):
            self._text.clear()
            self._reasoning.clear()
        elif isinstance(event, TextRetracted):
            self._text.clear()
            self._reasoning.append(event.text.strip())
        elif isinstance(event, ReasoningDelta):
            self._reasoning.append(event.text)
        else:
            self.finished = event


def ask(
    provider: ChatProvider,
    request: ChatRequest,
    cancel: CancelSignal,
    on_text: StreamCallback | None = None,
    on_reasoning: StreamCallback | None = None,
    on_note: NoteListener | None = None,
) -> Reply:
    """Send one request and collect the reply. Blocking; never raises :class:`ProviderError`."""
    tell_text = _guarded(on_text)
    tell_reasoning = _guarded(on_reasoning)
    tell_note = _guarded(on_note)
    reply = Reply()
    try:
        for event in provider.stream(request, cancel=cancel):
            if isinstance(event, CallNote | ToolCallAnnounced):
                tell_note(event)
                continue
            reply.take(event)
            if isinstance(event, TextDelta):
                tell_text(event.text)
            elif isinstance(event, ReasoningDelta):
                tell_reasoning(event.text)
            elif isinstance(event, TextRetracted):
                tell_note(event)
                tell_reasoning(event.text.strip())
    except ProviderError as error:
        reply.error = error
    return reply


def _guarded(callback: Callable[[T], None] | None) -> Callable[[T], None]:
    """Guard a callback: after a failure, which is logged, it is not called again.

    The reply matters more than the callback.
    """
    broken = callback is None

    def tell(text: T) -> None:
        nonlocal broken
        if broken or callback is None:
            return
        try:
            callback(text)
        except Exception:
            broken = True
            log.exception("A listener to the reply failed")

    return tell
