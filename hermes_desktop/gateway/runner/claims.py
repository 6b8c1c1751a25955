"""Claims of turns: one per chat, one per session, no more than there are workers.

A turn that waits for an approval or for the answer to a question is idle, possibly for an hour. It
lends out its slot, so that no chat is blocked.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, MutableMapping
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self

from hermes_desktop.core.concurrency.keyed_locks import acquire_unless
from hermes_desktop.core.events import TurnQueued
from hermes_desktop.core.user_requests import UserRequest
from hermes_desktop.gateway.access.refusals import too_many_conversations
from hermes_desktop.gateway.identity.active_sessions import ActiveSessions
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.runner.chats import Chats, ChatView
from hermes_desktop.gateway.runner.control import TurnControl
from hermes_desktop.gateway.runner.state import RunnerState, RunnerStatus
from hermes_desktop.gateway.session import SessionEntry, SessionSource
from hermes_desktop.gateway.turns import agent_cache
from hermes_desktop.gateway.turns.turn import TurnRecord

MOST_LENT = 25
"""Limit of a runner's waiting turns that have separate threads, in addition to the running ones."""


class WaitQueue(Protocol):
    """A queue in which turns wait."""

    def observe(self, observer: Callable[[Any, bool], object]) -> Callable[[], None]:
        """Subscribe to the beginning and end of waits."""
        ...

    def end_session(self, session_id: str) -> None:
        """Notify that a session has ended."""
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
        """Mark the turn as waiting for the user; with ``lend`` its slot is lent out until then."""
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

        def changed(request: UserRequest, waits: bool) -> None:  # noqa: FBT001 - the observer's signature
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


class Claims:
    """Claims, turn slots and leases. On the event loop.

    Attributes:
        slots: Lends out the slots of turns that wait for the user.
    """

    def __init__(
        self, state: RunnerState, chats: Chats, status: RunnerStatus, control: TurnControl
    ) -> None:
        self._state = state
        self._chats = chats
        self._status = status
        self._control = control
        self.slots = SlotLender(self._mark_waiting, ChatView(chats, "slot"))

    @contextlib.asynccontextmanager
    async def claim(self, record: TurnRecord) -> AsyncIterator[None]:
        """Claim the session key and one of the turn slots."""
        session_key = record.session_key
        record.session_id = self._state.session_store.peek_session_id(session_key) or ""
        chat = self._chats[session_key]
        busy = chat.agent is not None or self._state.turn_order.is_held(session_key)
        if busy or self._state.turn_slots.locked():
            self._state.bus.publish(
                TurnQueued(record.turn_id, session_key, record.session_id, record.prompt)
            )
        chat.waiting.append(record)
        try:
            async with (
                self._state.turn_order.hold(session_key),
                TurnSlot(self._state.turn_slots) as slot,
            ):
                chat.slot = slot
                self._no_longer_waits(record)
                self._begin(record)
                try:
                    yield
                finally:
                    record.over.set()
                    chat.slot = None
                    self._control.release(session_key, record.generation)
        finally:
            self._no_longer_waits(record)
            record.over.set()

    def _mark_waiting(self, session_key: str, waits: bool) -> None:  # noqa: FBT001 - a state
        record = self._chats.peek(session_key).turn
        if record is not None:
            record.waits = max(0, record.waits + (1 if waits else -1))
            record.touch()

    def _no_longer_waits(self, record: TurnRecord) -> None:
        waiting = self._chats.peek(record.session_key).waiting
        if record in waiting:
            waiting.remove(record)

    def _begin(self, record: TurnRecord) -> None:
        """Take the claim."""
        chat = self._chats[record.session_key]
        record.generation = chat.generation = chat.generation + 1
        record.monotonic = self._state.clock.monotonic
        record.began_at = record.active_at = self._state.clock.monotonic()
        record.session_id = self._state.session_store.peek_session_id(record.session_key) or ""
        chat.turn, chat.agent = record, agent_cache.PENDING
        chat.running_since = self._state.clock.time()
        self._status.report()

    @contextlib.asynccontextmanager
    async def lease(
        self, event: MessageEvent, source: SessionSource, record: TurnRecord
    ) -> AsyncIterator[SessionEntry]:
        """Hold the lease of the chat's session, which other chats or programs may share.

        Raises:
            WaitAbandonedError: The turn was ended while it waited.
        """
        place = self._chats.peek(record.session_key).slot

        def wait(session_id: str, reason: str = "") -> None:
            ids = (event.turn_id, record.session_key, session_id)
            self._state.bus.publish(TurnQueued(*ids, event.text, reason))
            if place is not None:  # the lease holder may take long
                place.lend()

        while True:
            session_entry = await self._session_of(source)
            session_id = session_entry.session_id
            waiting = self._state.turn_leases.is_held(session_id)
            if waiting:
                wait(session_id)
            async with self._state.turn_leases.hold(session_id, unless=record.ending):
                if waiting:  # the chat may have changed its session
                    session_entry = await self._session_of(source)
                if session_entry.session_id != session_id:
                    continue
                async with self._among_programs(record, session_id, partial(wait, session_id)):
                    if place is not None:
                        await place.take_back(record.ending)
                    yield session_entry
                    return

    @contextlib.asynccontextmanager
    async def _among_programs(
        self, record: TurnRecord, session_id: str, wait: Callable[[str], None]
    ) -> AsyncIterator[None]:
        """Wait for the lock that keeps other programs' turns out of the conversation; hold it."""
        if self._state.program_locks is None:
            yield
            return
        record.waits += 1  # waiting for another process is not inactivity
        waits = True
        try:
            async with self._state.program_locks.hold(session_id, unless=record.ending, waits=wait):
                if self._state.turn_gate is not None:
                    await self._state.turn_gate(session_id, record.ending)
                record.waits -= 1
                waits = False
                record.touch()
                yield
        finally:
            if waits:
                record.waits -= 1

    async def _session_of(self, source: SessionSource) -> SessionEntry:
        return await self._state.turn_workers.run(
            self._state.session_store.get_or_create_session, source
        )

    @contextlib.asynccontextmanager
    async def session_lease(self, name: str) -> AsyncIterator[None]:
        """Hold one of the leases that all programs share, where their number is limited.

        Raises:
            BusyError: All are taken.
        """
        limit = self._state.config.max_concurrent_sessions
        if limit is None or self._state.home is None:
            yield
            return
        places = ActiveSessions(self._state.home, self._state.clock)
        lease = await self._state.aside(places.take, name, limit)
        if lease is None:
            raise too_many_conversations(limit)
        try:
            yield
        finally:
            await self._state.aside(partial(places.give_back, lease))
