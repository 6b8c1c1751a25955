"""The provider interface of the agent."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hermes_desktop.agent.types import CancelSignal, ChatRequest, ModelChoice, StreamEvent


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
