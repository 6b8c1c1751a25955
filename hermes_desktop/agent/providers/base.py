"""What the agent needs of whoever answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hermes_desktop.agent.types import CancelSignal, ChatRequest, ModelChoice, StreamEvent


class ChatProvider(Protocol):
    """Answers a list of messages, piece by piece."""

    @property
    def choice(self) -> ModelChoice:
        """Which model answers, and where."""
        ...

    def stream(self, request: ChatRequest, *, cancel: CancelSignal) -> Iterator[StreamEvent]:
        """Ask, and yield what comes. Blocking; on the thread of the turn.

        The last event is ``Finished``. When ``cancel`` is set the iterator ends early, without
        ``Finished``, within a fraction of a second. Closing the iterator gives the call up, too.

        Raises:
            ProviderError: It did not answer, or stopped in the middle; texts yielded before stand.
        """
        ...

    def close(self) -> None:
        """Let go of idle connections; a later call opens new ones. Any thread may do it."""
        ...


@dataclass(frozen=True, slots=True)
class TimeOuts:
    """How long each part of a call may take, in seconds.

    Attributes:
        connect: Until a connection stands.
        first_byte: From sending until something of the answer is there; a model on a small machine
            reads a long conversation for minutes before it says anything.
        between: Between two pieces of the answer.
        after_end: For what may follow the last word (usage, end mark).
    """

    connect: float = 10.0
    first_byte: float = 300.0
    between: float = 120.0
    after_end: float = 3.0


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and when a failed call is made again, before anything of the reply was handed on.

    Attributes:
        count: How many times again.
        base_s: First pause; doubled each time, plus up to half of it at random.
        longest_s: Longest pause of our own.
        longest_asked_s: Longest pause that an endpoint may ask for; for a longer one the person
            is told instead.
    """

    count: int = 3
    base_s: float = 0.5
    longest_s: float = 30.0
    longest_asked_s: float = 120.0
