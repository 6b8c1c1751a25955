"""Bridge from a queue of the agents to the event bus of the program's loop."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Generic, TypeVar

from hermes_desktop.agent.tools.asking.waiting_room import Attendant, RequestQueue, Waits
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Event

Q = TypeVar("Q", bound=Waits)
A = TypeVar("A")
E = TypeVar("E", bound=Event)


class QueueEvents(Generic[Q, A, E]):
    """Publishes the requests of the program's one queue on the event bus; used on the event loop.

    No request can be shown before :meth:`open`: it is answered at once with that reason.

    Args:
        room: The queue in which agents wait, on their threads.
        bus: The event bus.
        begun: Converts a waiting request to an event.
        over: Converts its answer to an event.
    """

    def __init__(
        self,
        room: RequestQueue[Q, A],
        bus: EventBus,
        begun: Callable[[Q], E],
        over: Callable[[Q, A], Event],
    ) -> None:
        self._room = room
        self._bus = bus
        self._begun = begun
        self._over = over
        self._leave: Callable[[], None] | None = None

    def open(self, serves: Callable[[Q], bool] = lambda _asked: True) -> None:
        """Register as the attendant: from now on requests can be shown. On the event loop.

        Args:
            serves: Returns whether a request can be shown here; called on any thread.
        """
        loop = asyncio.get_running_loop()

        def publish(event: Event) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone: the request will time out
                loop.call_soon_threadsafe(self._bus.publish, event)

        def asked(request: Q) -> None:
            publish(self._begun(request))

        def settled(request: Q, answer: A) -> None:
            publish(self._over(request, answer))

        self.close()
        self._leave = self._room.attend(Attendant(serves, asked, settled))

    def pending(self) -> tuple[E, ...]:
        """Return the waiting requests, the oldest first."""
        return tuple(self._begun(each) for each in self._room.pending())

    def end(self) -> None:
        """Close the queue at the program's end: pending and later requests are over."""
        self._room.close()

    def close(self) -> None:
        """Stop showing requests; those without another attendant are answered with that reason."""
        if self._leave is not None:
            self._leave()
            self._leave = None
