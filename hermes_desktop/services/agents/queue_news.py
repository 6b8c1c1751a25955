"""What waits in a queue of the agents, as news on the bus of the program's loop."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Generic, TypeVar

from hermes_desktop.agent.tools.asking.waiting_room import Attendant, WaitingRoom, Waits
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Event

Q = TypeVar("Q", bound=Waits)
A = TypeVar("A")
E = TypeVar("E", bound=Event)


class QueueNews(Generic[Q, A, E]):
    """Attends the one queue of a program for whoever listens to the bus; on its loop.

    Nobody can be asked before :meth:`open`: whoever waits is told so at once.

    Args:
        room: Where agents wait, on their threads.
        bus: Gets the news.
        begun: What waits, as news.
        over: How it ended, as news.
    """

    def __init__(
        self,
        room: WaitingRoom[Q, A],
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
        """From now on somebody listens to the bus who can ask a person. On the loop.

        Args:
            serves: Whether this can be asked here; called on any thread.
        """
        loop = asyncio.get_running_loop()

        def publish(event: Event) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone: the time will be over
                loop.call_soon_threadsafe(self._bus.publish, event)

        def asked(request: Q) -> None:
            publish(self._begun(request))

        def settled(request: Q, answer: A) -> None:
            publish(self._over(request, answer))

        self.close()
        self._leave = self._room.attend(Attendant(serves, asked, settled))

    def pending(self) -> tuple[E, ...]:
        """What waits, the oldest first."""
        return tuple(self._begun(each) for each in self._room.pending())

    def end(self) -> None:
        """The program ends: nothing waits for a person any more, and whatever comes does not."""
        self._room.close()

    def close(self) -> None:
        """Nobody listens any more; what nobody else shows is answered with that."""
        if self._leave is not None:
            self._leave()
            self._leave = None
