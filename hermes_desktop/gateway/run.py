"""The gateway's life cycle, and the way of a message through it. The work stands elsewhere.

A message is taken in this order: authorised? → claim of its session key → its conversation →
lease of that conversation → kept agent or new one → turn on a worker thread → rotation and new
baseline → words for an empty reply → delivery → the news that it is over.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial

from hermes_desktop.agent.types import AgentResult
from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import (
    HermesError,
    NotFoundError,
)
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import (
    GatewayStatusChanged,
    TurnQueued,
    TurnStarted,
)
from hermes_desktop.core.session_context import reset_session_vars
from hermes_desktop.gateway import agent_cache, delivery, turn, turn_outcome
from hermes_desktop.gateway.agent_preparation import (
    PreparedAgent,
    close_agents,
    entry_after_turn,
    prepare_agent,
)
from hermes_desktop.gateway.agents import AgentFactory, AgentRequest, TurnAgent
from hermes_desktop.gateway.authorization import is_authorized
from hermes_desktop.gateway.config import GatewayConfig
from hermes_desktop.gateway.empty_replies import (
    normalize_empty_agent_response as _normalize_empty_agent_response,
)
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.refusals import closing, no_database
from hermes_desktop.gateway.runner_agents import RunnerAgents
from hermes_desktop.gateway.runner_state import Phase
from hermes_desktop.gateway.session import SessionEntry, SessionSource, SessionStore
from hermes_desktop.state import AsyncSessionDB, SessionDB

__all__ = ["GatewayRunner", "_normalize_empty_agent_response"]

log = logging.getLogger(__name__)

_AGENT_PENDING_SENTINEL = agent_cache.PENDING


class GatewayRunner(RunnerAgents):
    """Runs the gateway on the running loop; its methods belong to that loop unless they say else.

    Args:
        config: Who may write and when chats start afresh.
        session_store: The chats; a memory-only one when None.
        session_db: The conversations; without one every message is refused.
        agent_factory: Makes agents, on a worker thread.
        agent_settings: Says, on a worker thread, what agents would be made from now; see
            :attr:`AgentRequest.settings`. May raise :class:`HermesError`.
        bus: Gets the news of turns and of the gateway's state.
        turn_workers: Threads for everything that blocks; at least :data:`MAX_TURNS` of them.
        adapters: The platforms.
    """

    def __init__(  # noqa: PLR0913 - the parts it joins; all are optional
        self,
        config: GatewayConfig | None = None,
        *,
        session_store: SessionStore | None = None,
        session_db: AsyncSessionDB | None = None,
        agent_factory: AgentFactory | None = None,
        agent_settings: Callable[[], str] | None = None,
        bus: EventBus | None = None,
        turn_workers: WorkerThreads | None = None,
        clock: Clock | None = None,
        adapters: Iterable[PlatformAdapter] = (),
    ) -> None:
        if config is not None:
            self.config = config
        if session_store is not None:
            self.session_store = session_store
        if bus is not None:
            self.bus = bus
        if turn_workers is not None:
            self.turn_workers = turn_workers
        self.clock = clock or SystemClock()
        self.agent_factory = agent_factory
        self.agent_settings = agent_settings
        self._session_db = session_db
        self.adapters = {adapter.platform: adapter for adapter in adapters}

    # Life cycle

    async def start(self) -> None:
        """Connect every platform. One that cannot be connected is logged and left out."""
        self._draining = False
        self._stop_task = None
        self._enter("starting")
        for adapter in self.adapters.values():
            adapter.set_message_handler(self.accept)
            adapter.set_interrupt_handler(self.interrupt)
            try:
                connected = await adapter.connect()
            except Exception:  # one platform's failure is not the others'
                log.exception("Connecting %s failed", adapter.platform.value)
                connected = False
            if not connected:
                log.warning("%s is not connected", adapter.platform.value)
        self._enter("running")

    async def stop(self, drain_s: float = 15.0) -> None:
        """Let running turns end, then interrupt them, then leave. Calling it twice is harmless.

        Args:
            drain_s: How many seconds running turns may take to end by themselves.
        """
        if self._stop_task is None:
            self._stop_task = asyncio.get_running_loop().create_task(self._stop(drain_s))
        await asyncio.shield(self._stop_task)

    async def _stop(self, drain_s: float) -> None:
        self._draining = True
        self._enter("stopping")
        if not await self._message_tasks.wait_all(timeout=drain_s):
            for session_key in list(self._turns):
                self.interrupt(session_key)
            await self._message_tasks.wait_all(timeout=self.interrupt_grace_s)
        for session_key in self._turns:  # what a hung turn still brings is nobody's any more
            self._session_run_generation[session_key] += 1
        await self._message_tasks.cancel_all()
        for adapter in self.adapters.values():
            try:
                await adapter.disconnect()
            except Exception:  # the others are to be left, too
                log.exception("Leaving %s failed", adapter.platform.value)
        with self._agent_cache_lock:
            entries = list(self._agent_cache.values())
            self._agent_cache.clear()
        with contextlib.suppress(TimeoutError):
            await self.turn_workers.run_within(
                self.interrupt_grace_s, partial(close_agents, entries)
            )
        self._enter("stopped")

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._announce()

    def _announce(self) -> None:
        turns = len(self._running_agents)
        state = "working" if self._phase == "running" and turns else self._phase
        self.bus.publish(GatewayStatusChanged(state, running_turns=turns))

    # A message

    def accept(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        """Take a message; messages of one chat are answered in the order of these calls.

        Returns:
            The task that answers it; its result is the text that was delivered.
        """
        return self._message_tasks.start(self._handle_message(event), name=f"turn {event.turn_id}")

    def interrupt(self, session_key: str) -> bool:
        """Stop the turn that runs for a session key; False when there is none."""
        record = self._turns.get(session_key)
        if record is None:
            return False
        record.stop_requested = True
        agent = self._running_agents.get(session_key)
        if agent is not None and agent is not _AGENT_PENDING_SENTINEL:
            agent.interrupt()
        return True

    def _is_user_authorized(self, source: SessionSource | None) -> bool:
        return is_authorized(source, self.config)

    async def _handle_message(self, event: MessageEvent) -> str | None:
        reset_session_vars()
        source = event.source
        adapter = self.adapters.get(source.platform) if source is not None else None
        if source is None or adapter is None or not self._is_user_authorized(source):
            log.warning("A message was refused: its sender may not write")
            return None
        session_key = self.session_store._generate_session_key(source)  # noqa: SLF001 - see session
        record = turn.TurnRecord(event.turn_id, session_key, event.text)
        try:
            async with self._claim(record):
                outcome = await self._outcome(event, source, adapter, record)
                await delivery.send(adapter, source.chat_id, outcome.delivery)
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
    async def _claim(self, record: turn.TurnRecord) -> AsyncIterator[None]:
        """Have the session key, and one of the turns that may run at once, to oneself."""
        session_key = record.session_key
        record.session_id = self.session_store.peek_session_id(session_key) or ""
        busy = session_key in self._running_agents or self._turn_order.has_waiters(session_key)
        if busy or self._turn_slots.locked():
            self.bus.publish(
                TurnQueued(record.turn_id, session_key, record.session_id, record.prompt)
            )
        async with self._turn_order.hold(session_key), self._turn_slots:
            record.generation = self._session_run_generation.get(session_key, 0) + 1
            self._session_run_generation[session_key] = record.generation
            record.session_id = self.session_store.peek_session_id(session_key) or ""
            self._turns[session_key] = record
            self._running_agents[session_key] = _AGENT_PENDING_SENTINEL
            self._announce()
            try:
                yield
            finally:
                self._release_running_agent_state(session_key, record.generation)

    def _release_running_agent_state(self, session_key: str, generation: int) -> None:
        record = self._turns.get(session_key)
        if record is None or record.generation != generation:
            return
        del self._turns[session_key]
        self._running_agents.pop(session_key, None)
        self._announce()

    def _is_current(self, record: turn.TurnRecord) -> bool:
        return self._session_run_generation.get(record.session_key) == record.generation

    async def _outcome(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: turn.TurnRecord,
    ) -> turn_outcome.TurnOutcome:
        """Run the turn and say how it ended, whatever happens."""
        if self._draining:
            return turn_outcome.from_error(closing())
        try:
            return await self._run_turn(event, source, adapter, record)
        except HermesError as error:
            log.warning("A turn failed: %s", error)
            return turn_outcome.from_error(error, rows=record.rows)
        except Exception as error:  # a bug, but the person still gets an answer
            log.exception("A turn failed")
            return turn_outcome.from_error(error, rows=record.rows)

    async def _run_turn(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: turn.TurnRecord,
    ) -> turn_outcome.TurnOutcome:
        async with self._lease(event, source) as session_entry:
            record.session_id = session_entry.session_id
            self.bus.publish(
                TurnStarted(event.turn_id, record.session_key, record.session_id, event.text)
            )
            prepared = await self.turn_workers.run(
                self._prepare_agent, event, adapter, session_entry
            )
            if not self._is_current(record):
                return turn_outcome.stopped()
            self._running_agents[record.session_key] = prepared.agent
            try:
                result = await self._run_agent(prepared.agent, source, record)
                await self.turn_workers.run(
                    self._settle, record, adapter, session_entry, prepared, result
                )
            except BaseException:
                self._evict_cached_agent(record.session_key)  # nobody knows what it has seen
                self._release_agent(prepared.agent)
                raise
        return turn_outcome.from_result(
            result,
            history_len=prepared.mark.message_count if prepared.mark else 0,
            rows=record.rows,
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

    async def _run_agent(
        self, agent: TurnAgent, source: SessionSource, record: turn.TurnRecord
    ) -> AgentResult:
        relay = turn.DeltaRelay(record.turn_id, record.session_id, self.bus.publish)
        try:
            return await self.turn_workers.run(turn.run, agent, record, source, relay)
        finally:
            relay.close()

    # On the turn's worker thread

    def _database(self) -> SessionDB:
        if self._session_db is None:
            raise no_database()
        return self._session_db._db  # noqa: SLF001 - the blocking face of the same database

    def _prepare_agent(
        self, event: MessageEvent, adapter: PlatformAdapter, session_entry: SessionEntry
    ) -> PreparedAgent:
        """Get the conversation and an agent ready: a kept one, or a new one."""
        db = self._database()
        session_key = session_entry.session_key
        with self._agent_cache_lock:
            cached = self._agent_cache.get(session_key)
        try:
            adapter.prepare_session(db, session_entry, event)
            request = AgentRequest(
                session_id=session_entry.session_id,
                source=event.source_tag or adapter.platform.value,
                session_key=session_key,
                session_fields=adapter.session_fields(session_entry, event),
                settings=self.agent_settings() if self.agent_settings is not None else "",
            )
            prepared = prepare_agent(cached, request, db, self.agent_factory)
        except NotFoundError:
            self._forget_conversation(session_key)
            raise
        if cached is not None and cached[0] is not prepared.agent:
            self._evict_cached_agent(session_key)
        return prepared

    def _settle(
        self,
        record: turn.TurnRecord,
        adapter: PlatformAdapter,
        session_entry: SessionEntry,
        prepared: PreparedAgent,
        result: AgentResult,
    ) -> None:
        """After a turn: follow a rotation, keep the agent with a new baseline, let old ones go."""
        if not self._is_current(record):
            return
        if result.get("error_kind") == "session_gone":
            self._forget_conversation(record.session_key)
            return
        session_id = result.get("session_id") or record.session_id
        if session_id != record.session_id and session_entry.session_id == record.session_id:
            adapter.session_rotated(record.session_id, session_id)
            self._adopt_rotated_session(session_entry, session_id)
        entry = entry_after_turn(prepared, record.session_id, result)
        with self._agent_cache_lock:
            agent_cache.put(self._agent_cache, record.session_key, entry)
            self._agent_last_used[record.session_key] = self.clock.monotonic()
        self._sweep_idle_cached_agents()

    def _adopt_rotated_session(self, session_entry: SessionEntry, new_id: str) -> None:
        """Let a chat follow its conversation to the id that it goes on under."""
        session_entry.session_id = new_id
        self.session_store._save()  # noqa: SLF001 - the mapping must outlive a restart
