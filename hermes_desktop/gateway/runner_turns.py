"""The way of one message through the runner, from its claim to the news that it is over."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TypeVar

from hermes_desktop.agent.types import AgentResult
from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.core.events import TurnDelta, TurnQueued, TurnStarted
from hermes_desktop.gateway import agent_cache, turn, turn_outcome
from hermes_desktop.gateway.agent_preparation import (
    PreparedAgent,
    entry_after_turn,
    prepare_agent,
)
from hermes_desktop.gateway.agents import AgentRequest, TurnAgent
from hermes_desktop.gateway.busy_messages import MAX_QUEUED
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.refusals import closing, no_database, too_many_waiting
from hermes_desktop.gateway.runner_boundaries import RunnerBoundaries
from hermes_desktop.gateway.session import SessionEntry, SessionSource
from hermes_desktop.gateway.turn import TurnRecord
from hermes_desktop.gateway.turn_outcome import TurnOutcome
from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)

T = TypeVar("T")


class RunnerTurns(RunnerBoundaries):
    """Claims, leases and turns. On the loop, unless a method says else."""

    async def queue_message(self, event: MessageEvent) -> int:
        """Answer a message after what runs and waits in its chat, without interrupting.

        Its sender is not looked at again and it is never taken for a command.

        Returns:
            How many messages wait in that chat now, this one included; 0 when it is answered at
            once.

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
        """Have a message answered in its turn."""
        session_key = self.session_store._generate_session_key(source)  # noqa: SLF001 - see session
        record = TurnRecord(event.turn_id, session_key, event.text, event.message_id, note=note)
        self._message_tasks.start(
            self._answer(event, source, adapter, record), name=f"turn {event.turn_id}"
        )

    async def _answer(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> str:
        """Wait for the chat to be free, run the turn, deliver its reply, say that it is over."""
        try:
            async with self._claim(record):
                outcome = await self._outcome(event, source, adapter, record)
                await self._deliver(event, adapter, outcome.delivery)
                await self._settle_marks(record, outcome)
        except asyncio.CancelledError:  # we leave; whoever waits for this turn must know
            begun = record.generation > 0
            outcome = (
                turn_outcome.stopped(rows=record.rows)
                if begun
                else turn_outcome.from_error(closing(), rows=record.rows)
            )
            self.bus.publish(turn_outcome.finished_event(record, outcome))
            raise
        self.bus.publish(turn_outcome.finished_event(record, outcome))
        return outcome.delivery

    @contextlib.asynccontextmanager
    async def _claim(self, record: TurnRecord) -> AsyncIterator[None]:
        """Have the session key, and one of the turns that may run at once, to oneself."""
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
            async with self._turn_order.hold(session_key), self._turn_slots:
                self._no_longer_waits(record)
                self._begin(record)
                try:
                    yield
                finally:
                    record.over.set()
                    self._release_running_agent_state(session_key, record.generation)
        finally:
            self._no_longer_waits(record)
            record.over.set()

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
        record.began_at = record.active_at = self.clock.monotonic()
        record.session_id = self.session_store.peek_session_id(session_key) or ""
        self._session_run_generation[session_key] = record.generation
        self._turns[session_key] = record
        self._running_agents[session_key] = agent_cache.PENDING
        self._running_agents_ts[session_key] = self.clock.time()
        self._announce()

    async def _outcome(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome:
        """Run the turn and say how it ended, whatever happens."""
        if record.unwanted:
            return turn_outcome.stopped()
        if self._draining:
            return turn_outcome.from_error(closing())
        try:
            outcome = await self._run_turn(event, source, adapter, record)
        except HermesError as error:
            log.warning("A turn failed: %s", error)
            outcome = turn_outcome.from_error(error, rows=record.rows)
        except Exception as error:  # a bug, but the person still gets an answer
            if record.given_up.is_set():
                return turn_outcome.stopped(rows=record.rows)
            log.exception("A turn failed")
            outcome = turn_outcome.from_error(error, rows=record.rows)
        return turn_outcome.silenced(outcome) if self._is_unwanted(record, outcome) else outcome

    def _is_unwanted(self, record: TurnRecord, outcome: TurnOutcome) -> bool:
        """Whether nobody waits for the reply of a turn any more."""
        superseded = record.superseded and outcome.outcome == "stopped"
        return superseded or record.unwanted or not self._is_current(record)

    async def _run_turn(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome:
        async with self._lease(event, source) as session_entry:
            await self._cross_automatic_boundary(record, adapter, source, session_entry)
            record.session_id = session_entry.session_id
            self.bus.publish(
                TurnStarted(event.turn_id, record.session_key, record.session_id, event.text)
            )
            prepared = await self._on_worker(
                record, partial(self._prepare_agent, record, event, adapter, session_entry)
            )
            await self._note_begun(record)
            if not self._is_current(record):
                return turn_outcome.stopped()
            self._running_agents[record.session_key] = prepared.agent
            try:
                result = await self._run_agent(prepared.agent, source, record)
                settle = partial(self._settle, record, adapter, session_entry, prepared, result)
                await self._on_worker(record, settle)
            except BaseException:
                if self._is_current(record):
                    self._evict_cached_agent(record.session_key)  # nobody knows what it has seen
                self._release_agent(prepared.agent)
                raise
            begun_anew = await self._after_exhaustion(record, adapter, session_entry, result)
        return turn_outcome.from_result(
            result,
            history_len=prepared.mark.message_count if prepared.mark else 0,
            rows=record.rows,
            addition=begun_anew,
        )

    @contextlib.asynccontextmanager
    async def _lease(
        self, event: MessageEvent, source: SessionSource
    ) -> AsyncIterator[SessionEntry]:
        """Have the chat's conversation to oneself: two chats may be in the same one."""
        while True:
            session_entry = await self._session_of(source)
            session_id = session_entry.session_id
            waiting = self._turn_leases.is_held(session_id)
            if waiting:
                self.bus.publish(
                    TurnQueued(event.turn_id, session_entry.session_key, session_id, event.text)
                )
            async with self._turn_leases.hold(session_id):
                if waiting:  # it may have moved on meanwhile
                    session_entry = await self._session_of(source)
                if session_entry.session_id == session_id:
                    yield session_entry
                    return

    async def _session_of(self, source: SessionSource) -> SessionEntry:
        return await self.turn_workers.run(self.session_store.get_or_create_session, source)

    async def _on_worker(self, record: TurnRecord, call: Callable[[], T]) -> T:
        """Await a blocking call of a turn; a turn that is left behind does not wait for it."""
        return await self.turn_workers.run_unless(record.given_up, call)

    async def _run_agent(
        self, agent: TurnAgent, source: SessionSource, record: TurnRecord
    ) -> AgentResult:
        def publish(delta: TurnDelta) -> None:
            record.active_at = self.clock.monotonic()
            self.bus.publish(delta)

        relay = turn.DeltaRelay(record.turn_id, record.session_id, publish)
        try:
            return await self._on_worker(record, partial(turn.run, agent, record, source, relay))
        finally:
            relay.close()

    # On the turn's worker thread

    def _database(self) -> SessionDB:
        if self._session_db is None:
            raise no_database()
        return self._session_db._db  # noqa: SLF001 - the blocking face of the same database

    def _prepare_agent(
        self,
        record: TurnRecord,
        event: MessageEvent,
        adapter: PlatformAdapter,
        session_entry: SessionEntry,
    ) -> PreparedAgent:
        """Get the conversation and an agent ready: a kept one, or a new one."""
        db = self._database()
        self._mark_turn(record, adapter, session_entry)
        session_key = session_entry.session_key
        with self._cache_guard():
            cached = self._agent_cache.get(session_key)
        try:
            adapter.prepare_session(db, session_entry, event)
            request = AgentRequest(
                session_id=session_entry.session_id,
                source=event.source_tag or adapter.platform.value,
                session_key=session_key,
                session_fields=adapter.session_fields(session_entry, event),
                settings=self.agent_settings() if self.agent_settings is not None else "",
                model_override=self._model_override(session_entry),
            )
            prepared = prepare_agent(cached, request, db, self.agent_factory)
        except NotFoundError:
            self._forget_conversation(session_key)
            raise
        if cached is not None and cached[0] is not prepared.agent:
            self._evict_cached_agent(session_key)
        return prepared

    def _model_override(self, session_entry: SessionEntry) -> dict[str, str]:
        """The model that was chosen in a chat for its present conversation."""
        chosen = self._session_model_overrides.get(session_entry.session_key)
        return dict(chosen or session_entry.model_override or {})

    def _settle(
        self,
        record: TurnRecord,
        adapter: PlatformAdapter,
        session_entry: SessionEntry,
        prepared: PreparedAgent,
        result: AgentResult,
    ) -> None:
        """After a turn: follow a rotation, keep the agent with a new baseline, let old ones go."""
        if not self._is_current(record):
            self._release_agent(prepared.agent)
            return
        if result.get("error_kind") == "session_gone":
            self._forget_conversation(record.session_key)
            return
        session_id = result.get("session_id") or record.session_id
        if session_id != record.session_id and session_entry.session_id == record.session_id:
            adapter.session_rotated(record.session_id, session_id)
            self._adopt_rotated_session(session_entry, session_id)
        entry = entry_after_turn(prepared, record.session_id, result)
        with self._cache_guard():
            agent_cache.put(self._agent_cache, record.session_key, entry)
            self._agent_last_used[record.session_key] = self.clock.monotonic()
        self._sweep_idle_cached_agents()

    def _adopt_rotated_session(self, session_entry: SessionEntry, new_id: str) -> None:
        raise NotImplementedError

    def _mark_turn(
        self, record: TurnRecord, adapter: PlatformAdapter, session_entry: SessionEntry
    ) -> None:
        """Mark the chat of a turn that begins, in case we are killed."""

    async def _note_begun(self, record: TurnRecord) -> None:
        """Note that a message is being answered; its chat is marked by now."""

    async def _settle_marks(self, record: TurnRecord, outcome: TurnOutcome) -> None:
        """After the reply was delivered: the chat needs no taking up any more."""

    async def _deliver(self, event: MessageEvent, adapter: PlatformAdapter, text: str) -> None:
        raise NotImplementedError
