"""Slots for turns; a turn that waits for the user lends out its slot, so that no chat is blocked.

The number of concurrent turns is limited. A turn that waits for an approval or for the answer to a
question does nothing meanwhile, and that may last for an hour.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, MutableMapping
from types import TracebackType
from typing import Any, Protocol, Self

from hermes_desktop.core.concurrency.keyed_locks import acquire_unless
from hermes_desktop.core.user_requests import UserRequest

MOST_LENT = 25
"""Limit of a runner's waiting turns with threads of their own beside the running ones."""


class WaitQueue(Protocol):
    """A queue in which turns wait."""

    def observe(self, observer: Callable[[Any, bool], object]) -> Callable[[], None]:
        """Subscribe to the beginning and end of waits."""
        ...


class TurnSlot:
    """One turn's slot; an asynchronous context manager. On the event loop.

    Args:
        slots: The available slots.
    """

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots = slots
        self._held = False
        self._waits = 0
        self._return: asyncio.Task[None] | None = None

    @property
    def lent(self) -> bool:
        """Whether its turn waits and another one may run."""
        return self._waits > 0 and not self._held

    async def __aenter__(self) -> Self:
        await self._slots.acquire()
        self._held = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._return is not None:
            self._return.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._return
        if self._held:
            self._held = False
            self._slots.release()

    def wait(self, *, lend: bool) -> None:
        """Mark the turn as waiting for the user; with ``lend`` its slot is lent out meanwhile."""
        self._waits += 1
        if lend and self._held:
            self._held = False
            self._slots.release()

    def go_on(self) -> None:
        """End a wait. The slot is reacquired when one is free; the turn does not wait for that."""
        self._waits = max(0, self._waits - 1)
        if not self._waits and not self._held and self._return is None:
            self._return = asyncio.get_running_loop().create_task(self._take_again())

    def lend(self) -> None:
        """Let another turn run: this one waits for a lease, and needs no thread for that."""
        if self._held:
            self._held = False
            self._slots.release()

    async def take_back(self, unless: asyncio.Event) -> None:
        """Wait, after :meth:`lend`, until a slot is free again.

        Raises:
            WaitAbandonedError: ``unless`` was set before.
        """
        if not self._held:
            await acquire_unless(self._slots, unless)
            self._held = True

    async def _take_again(self) -> None:
        await self._slots.acquire()
        self._held = True
        self._return = None


class SlotLender:
    """Lends out the slots of a runner's turns that wait for the user.

    Attributes:
        places: By session key: the slot of the running turn.

    Args:
        mark: Called on the loop when the turn of a chat starts (True) or ends a wait.
        places: By session key: the slots; None: a new mapping.
    """

    def __init__(
        self,
        mark: Callable[[str, bool], object],
        places: MutableMapping[str, TurnSlot] | None = None,
    ) -> None:
        self.places = {} if places is None else places
        self._mark = mark
        self._leave: list[Callable[[], None]] = []

    def watch(self, rooms: Iterable[WaitQueue]) -> None:
        """Start lending, on the running loop, until :meth:`close`."""
        loop = asyncio.get_running_loop()

        def changed(request: UserRequest, waits: bool) -> None:  # noqa: FBT001 - what is told
            with contextlib.suppress(RuntimeError):  # the loop is gone
                loop.call_soon_threadsafe(self._changed, request.session_key, waits)

        self.close()
        self._leave = [room.observe(changed) for room in rooms]

    def close(self) -> None:
        """Stop lending."""
        for leave in self._leave:
            leave()
        self._leave = []

    def _changed(self, session_key: str, waits: bool) -> None:  # noqa: FBT001 - see watch
        place = self.places.get(session_key)
        if place is None:
            return
        self._mark(session_key, waits)
        if waits:
            lent = sum(each.lent for each in self.places.values())
            place.wait(lend=lent < MOST_LENT)
        else:
            place.go_on()
