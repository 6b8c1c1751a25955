"""The gateway's life cycle, and the way of a message through it. The work stands elsewhere.

A message is taken in this order: authorised? → command? → is its chat busy? → claim of its session
key → its conversation → lease of that conversation → kept agent or new one → turn on a worker
thread → rotation and new baseline → words for an empty reply → delivery → the news that it is over.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.session_context import reset_session_vars
from hermes_desktop.gateway import agent_cache, delivery
from hermes_desktop.gateway.agent_preparation import close_agents
from hermes_desktop.gateway.agents import AgentFactory
from hermes_desktop.gateway.authorization import is_authorized
from hermes_desktop.gateway.config import GatewayConfig
from hermes_desktop.gateway.empty_replies import (
    normalize_empty_agent_response as _normalize_empty_agent_response,
)
from hermes_desktop.gateway.keyed_locks import KeyedLocks
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner_report import RunnerReport
from hermes_desktop.gateway.runner_state import CommandDispatch, EventHooks, Phase
from hermes_desktop.gateway.runner_turns import RunnerTurns
from hermes_desktop.gateway.session import SessionEntry, SessionSource, SessionStore
from hermes_desktop.gateway.status import IdentityHolder
from hermes_desktop.gateway.turn import TurnRecord
from hermes_desktop.state import AsyncSessionDB

__all__ = ["GatewayRunner", "_normalize_empty_agent_response"]

log = logging.getLogger(__name__)

_AGENT_PENDING_SENTINEL = agent_cache.PENDING


class GatewayRunner(RunnerTurns):
    """Runs the gateway on the running loop; its methods belong to that loop unless they say else.

    Args:
        config: Who may write and when chats start afresh.
        session_store: The chats; a memory-only one when None.
        session_db: The conversations; without one every message is refused.
        agent_factory: Makes agents, on a worker thread.
        agent_settings: Says, on a worker thread, what agents would be made from now; see
            :attr:`AgentRequest.settings`. May raise :class:`HermesError`.
        bus: Gets the news of turns.
        turn_workers: Threads for everything that blocks; at least :data:`MAX_TURNS` of them.
        turn_leases: One turn per conversation at a time, shared by the runners of a program.
        turn_slots: No more turns than workers, shared likewise.
        adapters: The platforms.
        announce: Told on the loop how the runner is doing, after each change.
        home: The home whose gateway this is; None for a private runner, which writes no file.
        identity: What holds the home for us; None for a private runner.
        hooks: Hears of the gateway's events.
        command_dispatch: Takes commands out of the messages.
        restart_handler: Starts the gateway anew, after :meth:`request_restart` has returned.
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
        turn_leases: KeyedLocks | None = None,
        turn_slots: asyncio.Semaphore | None = None,
        clock: Clock | None = None,
        adapters: Iterable[PlatformAdapter] = (),
        announce: Callable[[RunnerReport], None] | None = None,
        home: Path | None = None,
        identity: IdentityHolder | None = None,
        hooks: EventHooks | None = None,
        command_dispatch: CommandDispatch | None = None,
        restart_handler: Callable[[], None] | None = None,
    ) -> None:
        given = {
            "config": config,
            "session_store": session_store,
            "bus": bus,
            "turn_workers": turn_workers,
            "_turn_leases": turn_leases,
            "_turn_slots": turn_slots,
        }
        for name, value in given.items():
            if value is not None:
                setattr(self, name, value)
        self.clock = clock or SystemClock()
        self.agent_factory = agent_factory
        self.agent_settings = agent_settings
        self._session_db = session_db
        self.adapters = {adapter.platform: adapter for adapter in adapters}
        self.announce = announce
        self.home = home
        self.identity = identity
        self.hooks = hooks
        self.command_dispatch = command_dispatch
        self.restart_handler = restart_handler

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
        self._running = True
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
        self._running = False
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
        with self._cache_guard():
            entries = list(self._agent_cache.values())
            self._agent_cache.clear()
        with contextlib.suppress(TimeoutError):
            await self.turn_workers.run_within(
                self.interrupt_grace_s, partial(close_agents, entries)
            )
        self._close_boundaries()
        self._enter("stopped")

    async def request_restart(self, requested_by: SessionSource | None = None) -> bool:
        """Have the gateway started anew once this call has returned.

        Args:
            requested_by: The chat that is told when it is back.

        Returns:
            False when nobody can do that.
        """
        if self.restart_handler is None:
            return False
        log.info("A restart was asked for by %s", requested_by and requested_by.description)
        self._restart_requested = True
        asyncio.get_running_loop().call_soon(self.restart_handler)
        return True

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._announce()

    def _announce(self) -> None:
        if self.announce is not None:
            self.announce(RunnerReport(self._phase, len(self._running_agents)))

    # A message

    def accept(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        """Take a message; messages of one chat are answered in the order of these calls.

        Returns:
            The task that answers it; its result is the text that was delivered.
        """
        return self._message_tasks.start(self._handle_message(event), name=f"turn {event.turn_id}")

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
        record = TurnRecord(event.turn_id, session_key, event.text)
        return await self._answer(event, source, adapter, record)

    async def _deliver(self, event: MessageEvent, adapter: PlatformAdapter, text: str) -> None:
        """Put the reply of a turn into its chat."""
        if event.source is not None:
            await delivery.send(adapter, event.source.chat_id, text)

    async def _send(self, adapter: PlatformAdapter, source: SessionSource, text: str) -> None:
        """Put something into a chat that is no reply of a turn."""
        await delivery.send(adapter, source.chat_id, text)

    # On the turn's worker thread

    def _adopt_rotated_session(self, session_entry: SessionEntry, new_id: str) -> None:
        """Let a chat follow its conversation to the id that it goes on under."""
        session_entry.session_id = new_id
        self.session_store._save()  # noqa: SLF001 - the mapping must outlive a restart
