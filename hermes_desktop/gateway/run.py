"""The gateway runner: its life cycle, and the path of a message through it.

A message is processed in this order: authorization → command → check for a busy chat → claim of its
session key → its session → lease of that session → cached or new agent → turn on a worker thread →
rotation and new baseline → text for an empty reply → delivery → event for the end of the turn.
The steps themselves are implemented in other modules.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.session_context import reset_session_vars
from hermes_desktop.gateway.access.access import Access
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner import expiry_watcher, housekeeping
from hermes_desktop.gateway.runner.runner_state import (
    CommandDispatch,
    EventHooks,
    Phase,
    RunnerReport,
)
from hermes_desktop.gateway.runner.runner_stopping import RunnerStopping
from hermes_desktop.gateway.session import SessionEntry, SessionSource, SessionStore
from hermes_desktop.gateway.status import IdentityHolder
from hermes_desktop.gateway.turns import agent_cache, turn_outcome
from hermes_desktop.gateway.turns.agents import AgentFactory
from hermes_desktop.gateway.turns.empty_replies import (
    normalize_empty_agent_response as _normalize_empty_agent_response,
)
from hermes_desktop.gateway.turns.inbound_text import inbound_text
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome
from hermes_desktop.state import AsyncSessionDB

__all__ = ["GatewayRunner", "_normalize_empty_agent_response"]

log = logging.getLogger(__name__)

UNUSED_LOOK_S = 600.0

_AGENT_PENDING_SENTINEL = agent_cache.PENDING

_STATES: Mapping[Phase, str] = {
    "starting": "starting",
    "running": "running",
    "stopping": "draining",
    "stopped": "draining",
}
"""The names of the phases in the state file; the identity holder writes ``stopped`` at its end."""


class GatewayRunner(RunnerStopping):
    """The gateway runner. Methods run on the event loop unless stated otherwise.

    Args:
        config: Authorization lists and reset policies.
        session_store: The chats; a memory-only store when None.
        session_db: The sessions; without a database every message is refused.
        agent_factory: Creates agents, on a worker thread.
        agent_settings: Returns, on a worker thread, the settings that agents would be created from
            now; see :attr:`AgentRequest.settings`. May raise :class:`HermesError`.
        bus: Receives the events of turns.
        turn_workers: Worker threads for blocking calls; at least :data:`MAX_TURNS` of them.
        turn_leases: One turn per session at a time, shared by the runners of a program.
        turn_slots: No more turns than workers, shared likewise.
        adapters: The platforms.
        announce: Called on the loop with the runner's status, after each change.
        home: The home whose gateway this is; None for a private runner, which writes no file.
        identity: The holder of the home's identity; None for a private runner.
        hooks: The event hooks of the gateway.
        command_dispatch: Filters commands out of the messages.
        restart_handler: Restarts the gateway, after :meth:`request_restart` has returned.
        access: Authorizes senders; None: the lists in ``config``.
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
        access: Access | None = None,
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
        self.access = access

    # Life cycle

    async def start(self) -> None:
        """Connect every platform, resume what a restart interrupted, start the housekeeping.

        A platform that cannot be connected is logged and left out. Only a runner with a home
        resumes chats and does full housekeeping. A concurrent :meth:`stop` ends this, too.
        """
        self._draining = False
        self._stop_task = self._drain_until = None
        self._restart_requested = False
        self._leave_by = float("inf")
        self._told_of.clear()
        self._open_threads()
        self._waiting_turns.watch(self.rooms)
        self._enter("starting")
        self._starting = asyncio.get_running_loop().create_task(self._begin_work(), name="begin")
        try:
            await asyncio.shield(self._starting)
        except asyncio.CancelledError:
            if not self._draining:
                self._starting.cancel()
                raise
            log.info("The start was overtaken by a stop")

    async def _begin_work(self) -> None:
        await self._look_back()
        await self._connect_platforms()
        self._running = True
        self._enter("running")
        if self.adapters:  # otherwise it is reported when adapters are added
            await self.tell_startup()
        await self._take_up()
        if self.home is not None:
            self._watch("expired conversations", self._session_expiry_watcher)
        else:
            self._watch("unused agents", self._let_unused_agents_go)

    async def tell_startup(self) -> None:
        """Notify event hooks that the gateway runs, and which platforms it serves."""
        names = sorted(platform.value for platform in self.adapters)
        await self._emit("gateway:startup", None, platforms=names)

    async def _connect_platforms(self) -> None:
        for adapter in self.adapters.values():
            adapter.set_message_handler(self.accept)
            adapter.set_interrupt_handler(self.interrupt)
            adapter.set_closing_handler(partial(self._closed, adapter.platform))
            try:
                connected = await adapter.connect()
            except Exception:  # one platform's failure must not affect the others
                log.exception("Connecting %s failed", adapter.platform.value)
                connected = False
            if not connected:
                log.warning("%s is not connected", adapter.platform.value)

    def _watch(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run background work as long as the gateway runs; see :mod:`housekeeping`."""
        self._watchers.start(housekeeping.supervised(name, work, self.clock), name=name)

    async def _let_unused_agents_go(self) -> None:
        """Evict unused agents: all the housekeeping of a private runner (no chat expires)."""
        while True:
            await asyncio.sleep(UNUSED_LOOK_S)
            self._sweep_idle_cached_agents()

    async def _session_expiry_watcher(self, interval: float = 300) -> None:
        """Process expired sessions, unused agents and old entries."""
        await expiry_watcher.watch(self, interval)

    async def stop(
        self,
        drain_s: float | None = None,
        *,
        drain_until: float | None = None,
        deadline: float | None = None,
        restart: bool = False,
    ) -> None:
        """Drain running turns, interrupt the rest, then shut down; afterwards nothing of it runs.

        Calling it again waits for the same end; new bounds only shorten it, as does :meth:`hurry`.
        Interrupted turns are resumed by the next run.

        Args:
            drain_s: How many seconds running turns may take to finish; None: as configured.
            drain_until: The latest time to interrupt them, in the clock's monotonic seconds.
            deadline: The latest time for the shutdown to end, likewise; else a few seconds after
                that.
            restart: The gateway is started again immediately.
        """
        if drain_s is None:
            drain_s = self._restart_drain_timeout
        if drain_s is None:
            drain_s = self.config.running.restart_drain_timeout_s
        self._set_bounds(drain_s, drain_until, deadline)
        if self._stop_task is None:
            self._restart_requested = self._restart_requested or restart
            self._stop_task = asyncio.get_running_loop().create_task(self._leave(), name="leave")
        await asyncio.shield(self._stop_task)

    async def request_restart(self, requested_by: SessionSource | None = None) -> bool:
        """Have the gateway restarted once this call has returned.

        Args:
            requested_by: The chat that is notified when the gateway is back.

        Returns:
            False when a restart is not possible.
        """
        if self.restart_handler is None:
            return False
        if requested_by is not None:
            await self._ask_for_notice(requested_by)
        self._restart_requested = True
        asyncio.get_running_loop().call_soon(self.restart_handler)
        return True

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._announce()

    def _announce(self) -> None:
        """Report the status to the host and to other programs."""
        self._update_runtime_status(self._state_for_others())
        if self.announce is None:
            return
        try:
            running = len(self._running_agents) + self.running_tasks()
            self.announce(RunnerReport(self._phase, running))
        except Exception:
            # A bug in a listener must not end a turn or prevent the shutdown.
            log.exception("Nobody heard how the gateway is doing")

    def _state_for_others(self) -> str:
        if self._phase == "running" and self._refusing is not None:
            return "draining"
        if self._phase == "running" and self.platforms_failed():
            return "degraded"
        return _STATES[self._phase]

    # A message

    def accept(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        """Accept a message; messages of one chat are answered in the order of these calls.

        Returns:
            The task that answers it; its result is the delivered text.
        """
        if event.source is not None:
            self._replay(event.source.platform)
        return self._message_tasks.start(self._handle_message(event), name=f"turn {event.turn_id}")

    async def _handle_message(self, event: MessageEvent) -> str | None:
        try:
            answer = await self._see_to(event)
        except Exception:  # a bug; it would occur again after the next start
            await self._dealt_with(event)
            raise
        await self._dealt_with(event)
        return answer

    async def _see_to(self, event: MessageEvent) -> str | None:
        reset_session_vars()
        source = event.source
        adapter = self.adapters.get(source.platform) if source is not None else None
        if source is None or adapter is None:
            log.warning("A message was refused: nobody serves its platform")
            return None
        if self._startup_restore_in_progress and not event.internal:
            await self._restored.wait()
        if not event.internal:
            await self._resumed(source.platform)
        session_key = self.session_store._generate_session_key(source)  # noqa: SLF001 - see session
        record = TurnRecord(event.turn_id, session_key, event.text, event.message_id)
        if await self._stops_command(event, source, session_key):
            await self._close_without_turn(event, adapter, record, turn_outcome.answered(""))
            return None
        async with self._entrance.hold(session_key):
            admitted = await self._admit(event, source, session_key)
            ended = None if isinstance(admitted, MessageEvent) else admitted
            if isinstance(admitted, MessageEvent):
                event, source = admitted, admitted.source or source
                record.prompt = inbound_text(event, source, self.config)
                ended = await self._handle_busy_chat(event, source, adapter, record)
        if ended is None:  # nothing was awaited since the entrance: the order is kept
            return await self._answer(event, source, adapter, record)
        await self._close_without_turn(event, adapter, record, ended)
        return ended.delivery or None

    async def _close_without_turn(
        self,
        event: MessageEvent,
        adapter: PlatformAdapter,
        record: TurnRecord,
        outcome: TurnOutcome,
    ) -> None:
        """Complete a message that needed no turn: deliver the response and publish the end."""
        await self._deliver(event, adapter, outcome.delivery, is_owed=outcome.outcome == "failed")
        record.session_id = self.session_store.peek_session_id(record.session_key) or ""
        if adapter.platform is Platform.DESKTOP or outcome.outcome == "failed":
            self.bus.publish(turn_outcome.finished_event(record, outcome))

    # On the turn's worker thread

    def _adopt_rotated_session(self, session_entry: SessionEntry, new_id: str) -> None:
        """Update a chat's entry to the new id of its session after a rotation."""
        session_entry.session_id = new_id
        self.session_store._save()  # noqa: SLF001 - the mapping must outlive a restart
