"""Claims of turns: one per chat, one per session, no more than there are workers."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from functools import cached_property, partial
from typing import TypeVar

from hermes_desktop.core.events import TurnQueued
from hermes_desktop.gateway.access.refusals import closing, too_many_waiting
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.runner_boundaries import RunnerBoundaries
from hermes_desktop.gateway.session import SessionEntry, SessionSource
from hermes_desktop.gateway.turns import agent_cache, turn_outcome
from hermes_desktop.gateway.turns.busy_messages import MAX_QUEUED
from hermes_desktop.gateway.turns.inbound_text import inbound_text
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome
from hermes_desktop.gateway.turns.turn_places import SlotLender, TurnSlot

log = logging.getLogger(__name__)

T = TypeVar("T")


class RunnerClaims(RunnerBoundaries):
    """Claims and leases. On the event loop."""

    async def queue_message(self, event: MessageEvent) -> int:
        """Queue a message behind the turns of its chat, without interrupting.

        Its sender is not authorized again and it is never treated as a command.

        Returns:
            The number of messages that wait in that chat now, this one included; 0 when it is
            answered immediately.

        Raises:
            BusyError: Too many wait already.
            RefusedError: The program is closing, or the platform of the message is not served.
        """
        source = event.source
        adapter = self.adapters.get(source.platform) if source is not None else None
        if self._draining or source is None or adapter is None:
            raise closing()
        session_key = self.session_store._generate_session_key(source)  # noqa: SLF001 - see session
        busy, waiting = self.is_busy(session_key), len(self._queued_events.get(session_key, ()))
        if waiting >= MAX_QUEUED:
            raise too_many_waiting(waiting)
        self._enqueue(event, source, adapter)
        return waiting + 1 if busy else 0

    def _enqueue(
        self, event: MessageEvent, source: SessionSource, adapter: PlatformAdapter, note: str = ""
    ) -> None:
        """Queue a message to be answered in its turn."""
        session_key = self.session_store._generate_session_key(source)  # noqa: SLF001 - see session
        prompt = inbound_text(event, source, self.config)
        record = TurnRecord(event.turn_id, session_key, prompt, event.message_id, note=note)
        self._queued_turns.add(event.turn_id)
        adapter.expect_turn(event.turn_id, session_key)
        self._message_tasks.start(
            self._answer_later(event, source, adapter, record), name=f"turn {event.turn_id}"
        )

    async def _answer_later(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> None:
        """Answer a queued message; it counts as processed only afterwards."""
        try:
            await self._answer(event, source, adapter, record)
        finally:
            self._queued_turns.discard(event.turn_id)
        await self._dealt_with(event)

    async def _answer(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> str:
        """Wait for the chat to be free, run the turn, publish its end, deliver its reply."""
        outcome: TurnOutcome | None = None
        try:
            async with self._claim(record):
                outcome = await self._outcome(event, source, adapter, record)
                record.answered = True
                self._answer_unheard(record)
                # Before the delivery, which may take long, and before the next turn of the session
                # is announced: its lease is free by now.
                self.bus.publish(turn_outcome.finished_event(record, outcome))
                await self._deliver(event, adapter, outcome.delivery)
                await self._settle_marks(record, outcome)
        except asyncio.CancelledError:
            # The runner stops; listeners still need the end of this turn.
            if outcome is None:
                begun = record.generation > 0
                outcome = (
                    turn_outcome.stopped(rows=record.rows)
                    if begun
                    else turn_outcome.from_error(closing(), rows=record.rows)
                )
                self.bus.publish(turn_outcome.finished_event(record, outcome))
            raise
        return outcome.delivery

    @contextlib.asynccontextmanager
    async def _claim(self, record: TurnRecord) -> AsyncIterator[None]:
        """Claim the session key and one of the turn slots."""
        session_key = record.session_key
        record.session_id = self.session_store.peek_session_id(session_key) or ""
        waiting = self._queued_events.setdefault(session_key, [])
        busy = session_key in self._running_agents or self._turn_order.is_held(session_key)
        if busy or self._turn_slots.locked():
            self.bus.publish(
                TurnQueued(record.turn_id, session_key, record.session_id, record.prompt)
            )
        waiting.append(record)
        try:
            async with (
                self._turn_order.hold(session_key),
                TurnSlot(self._turn_slots) as self._waiting_turns.places[session_key],
            ):
                self._no_longer_waits(record)
                self._begin(record)
                try:
                    yield
                finally:
                    record.over.set()
                    self._waiting_turns.places.pop(session_key, None)
                    self._release_running_agent_state(session_key, record.generation)
        finally:
            self._no_longer_waits(record)
            record.over.set()

    @cached_property
    def _waiting_turns(self) -> SlotLender:
        """Lends out the slots of turns that wait for the user."""
        return SlotLender(self._mark_waiting)

    def _mark_waiting(self, session_key: str, waits: bool) -> None:  # noqa: FBT001 - what is told
        record = self._turns.get(session_key)
        if record is not None:
            record.waits = max(0, record.waits + (1 if waits else -1))
            record.touch()

    def _no_longer_waits(self, record: TurnRecord) -> None:
        waiting = self._queued_events.get(record.session_key, [])
        if record in waiting:
            waiting.remove(record)
        if not waiting:
            self._queued_events.pop(record.session_key, None)

    def _begin(self, record: TurnRecord) -> None:
        """Take the claim."""
        session_key = record.session_key
        record.generation = self._session_run_generation.get(session_key, 0) + 1
        record.monotonic = self.clock.monotonic
        record.began_at = record.active_at = self.clock.monotonic()
        record.session_id = self.session_store.peek_session_id(session_key) or ""
        self._session_run_generation[session_key] = record.generation
        self._turns[session_key] = record
        self._running_agents[session_key] = agent_cache.PENDING
        self._running_agents_ts[session_key] = self.clock.time()
        self._announce()

    @contextlib.asynccontextmanager
    async def _lease(
        self, event: MessageEvent, source: SessionSource, record: TurnRecord
    ) -> AsyncIterator[SessionEntry]:
        """Hold the lease of the chat's session, which other chats or programs may share.

        Raises:
            WaitAbandonedError: The turn was ended while it waited.
        """
        place = self._waiting_turns.places.get(record.session_key)

        def wait(session_id: str, reason: str = "") -> None:
            ids = (event.turn_id, record.session_key, session_id)
            self.bus.publish(TurnQueued(*ids, event.text, reason))
            if place is not None:  # the lease holder may take long
                place.lend()

        while True:
            session_entry = await self._session_of(source)
            session_id = session_entry.session_id
            waiting = self._turn_leases.is_held(session_id)
            if waiting:
                wait(session_id)
            async with self._turn_leases.hold(session_id, unless=record.ending):
                if waiting:  # the chat may have changed its session meanwhile
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
        if self.program_locks is None:
            yield
            return
        record.waits += 1  # waiting for another process is not inactivity
        waits = True
        try:
            async with self.program_locks.hold(session_id, unless=record.ending, waits=wait):
                if self.turn_gate is not None:
                    await self.turn_gate(session_id, record.ending)
                record.waits -= 1
                waits = False
                record.touch()
                yield
        finally:
            if waits:
                record.waits -= 1

    async def _session_of(self, source: SessionSource) -> SessionEntry:
        return await self.turn_workers.run(self.session_store.get_or_create_session, source)

    async def _on_worker(self, record: TurnRecord, call: Callable[[], T]) -> T:
        """Await a blocking call of a turn; stop waiting when the turn is given up."""
        return await self.turn_workers.run_unless(record.given_up, call)

    async def _outcome(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome:
        raise NotImplementedError

    def _answer_unheard(self, record: TurnRecord) -> None:
        """Queue the steering messages that the finished turn did not receive."""

    async def _settle_marks(self, record: TurnRecord, outcome: TurnOutcome) -> None:
        """Clear the resume mark of the chat after the reply was delivered."""

    async def _dealt_with(self, event: MessageEvent) -> None:
        """Mark a message as fully processed."""

    async def _deliver(self, event: MessageEvent, adapter: PlatformAdapter, text: str) -> None:
        raise NotImplementedError
