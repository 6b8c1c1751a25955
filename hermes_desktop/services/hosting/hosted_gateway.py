"""One run of the gateway that serves the messaging platforms, built from freshly read settings."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks
from hermes_desktop.core.concurrency.periodic_look import PollingThread
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.access.refusals import asked_to_drain
from hermes_desktop.gateway.config.config_changes import ConfigReplaced, split_live_changes
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, platform_or_none
from hermes_desktop.gateway.delivery.delivery import DeliveryDependencies
from hermes_desktop.gateway.identity.identity_supervisor import GatewayIdentity
from hermes_desktop.gateway.identity.token_locks import TokenLocks
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.platforms.platform_supervisor import (
    PlatformSupervisor,
    SupervisorWiring,
)
from hermes_desktop.gateway.platforms.registry import AdapterRegistry
from hermes_desktop.gateway.platforms.token_gate import AsyncTokenLocks
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.gateway.runner.chat_requests import ChatApprovals, ChatQuestions
from hermes_desktop.gateway.runner.state import RunnerReport
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.gateway.status import drain_requested
from hermes_desktop.gateway.turns.program_locks import ProgramLocks
from hermes_desktop.services.agents.agent_builder import AgentBuilder
from hermes_desktop.services.agents.background_care import BackgroundNotifier
from hermes_desktop.services.agents.plugin_care import PluginManager
from hermes_desktop.services.hosting.hosted_commands import install_access, install_commands
from hermes_desktop.services.hosting.hosting_ending import Ending, StopRequests
from hermes_desktop.services.sessions.open_turns import ForeignTurns
from hermes_desktop.state import AsyncSessionDB, SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from hermes_desktop.state.shared_tables.delivery_store import Owner
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

if TYPE_CHECKING:
    from hermes_desktop.gateway.runner.hooks import EventHookSet

log = logging.getLogger(__name__)

_DRAIN_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class HostedParts:
    """The dependencies of every run of the gateway, shared with the desktop's own chat.

    Attributes:
        turns: Worker threads of turns.
        turn_leases: Locks that allow one turn per conversation at a time in this program.
        turn_slots: Semaphore that allows at most as many turns as workers in this program.
        conversations: The lock files behind ``program_locks``.
        program_locks: Locks that allow one turn per conversation across all our programs.
        open_turns: Detects turns that other programs run.
        locks: The locks of bot tokens, used on ``worker`` alone.
        worker: The worker thread for blocking calls about hosting, one at a time.
        commands: The worker threads for commands and sender authorization.
        environ: The process environment.
        plugins: The plugins of the home.
        background: Work that runs alongside the conversations.
    """

    paths: HermesPaths
    db: SessionDB
    session_db: AsyncSessionDB
    builder: AgentBuilder
    turns: WorkerThreads
    turn_leases: KeyedLocks
    turn_slots: asyncio.Semaphore
    conversations: ConversationLocks
    program_locks: ProgramLocks
    open_turns: ForeignTurns
    registry: AdapterRegistry
    locks: TokenLocks
    worker: WorkerThreads
    commands: WorkerThreads
    environ: Mapping[str, str]
    redactor: SecretRedactor
    bus: EventBus
    clock: Clock
    plugins: PluginManager
    background: BackgroundNotifier


@dataclass(frozen=True, slots=True)
class HostCallbacks:
    """Callbacks of a run of the gateway to its owner, called on the event loop.

    Attributes:
        announce: Receives its status, including its platforms.
        explain: Receives a user-facing note about a special condition; "" when there is none.
        restart: Called when a chat requests a restart.
    """

    announce: Callable[[RunnerReport], None]
    explain: Callable[[str], None]
    restart: Callable[[], None]


class _RunnerIdentity:
    """The identity as the runner sees it: updates are forwarded, the host does the release."""

    def __init__(self, identity: GatewayIdentity) -> None:
        self._identity = identity

    def update(self, fields: Mapping[str, Any]) -> None:
        """Update fields of the state file."""
        self._identity.update(fields)

    def release(self) -> bool:
        """Do nothing: token locks are released first, and waiting for all may take too long."""
        return True


class HostedGateway:
    """One run of the gateway, started once and left once. For one event loop.

    Args:
        parts: The dependencies.
        config: The settings.
        record: The identity process, which the token locks name.
        identity: The identity that receives the fields of the state file.
        calls: The callbacks to the owner.
    """

    def __init__(
        self,
        parts: HostedParts,
        config: GatewayConfig,
        *,
        record: GatewayRecord,
        identity: GatewayIdentity,
        calls: HostCallbacks,
    ) -> None:
        self._parts = parts
        self._calls = calls
        self._quiet_watch = self._drain_watch()
        self._record = record
        self._report = RunnerReport("stopped")
        self._hooks: EventHookSet | None = None
        hold = _RunnerIdentity(identity)
        self._runner = GatewayRunner(
            config,
            session_store=_store(parts, config),
            session_db=parts.session_db,
            agent_factory=parts.builder.build,
            agent_settings=parts.builder.fingerprint,
            bus=parts.bus,
            turn_workers=parts.turns,
            turn_leases=parts.turn_leases,
            turn_slots=parts.turn_slots,
            clock=parts.clock,
            announce=self._note,
            home=parts.paths.home,
            identity=hold,
            restart_handler=calls.restart,
        )
        self._runner.state.program_locks = parts.program_locks
        self._own = DesktopDatabase(parts.paths.own_store)
        self._mail_worker = WorkerThreads("gateway-mail")
        self._runner.parts.replies.use_mail(self._mail_parts(config))
        self._runner.state.task_file = parts.paths.desktop_dir / "background-tasks.json"
        self._platforms = self._supervisor(config, hold)
        self._runner.state.platforms_failed = lambda: self._platforms.has_only_failed
        install_access(self._runner, parts)
        install_commands(self._runner, parts, self._platforms)
        queue = parts.builder.requests
        if queue is not None:
            self._runner.state.rooms = (queue,)
            self._runner.state.approvals = ChatApprovals(self._runner, queue)
            self._runner.state.questions = ChatQuestions(self._runner, queue)

    def _drain_watch(self) -> PollingThread[bool]:
        look = partial(drain_requested, self._parts.paths.home)
        return PollingThread(
            "drain-watch", look, self._apply_drain_request, first=False, every_s=_DRAIN_LOOK_S
        )

    def _supervisor(self, config: GatewayConfig, hold: _RunnerIdentity) -> PlatformSupervisor:
        parts = self._parts
        return PlatformSupervisor(
            config,
            parts.registry,
            self._runner.adapters,
            SupervisorWiring(
                wire=self._wire,
                changed=self._runner.parts.status.report,
                connected=self._runner.parts.life_cycle.platform_connected,
                notify=parts.bus.publish,
                identity=hold,
                tokens=AsyncTokenLocks(parts.locks, parts.worker, lambda: self._record),
            ),
            home=parts.paths.home,
            clock=parts.clock,
        )

    def serves(self, platform: str) -> Platform | None:
        """Return the platform of that name if this gateway serves it."""
        found = platform_or_none(platform)
        return found if found is not None and self._platforms.serves(found) else None

    @property
    def runner(self) -> GatewayRunner:
        """The runner that answers its messages."""
        return self._runner

    @property
    def platforms(self) -> PlatformSupervisor:
        """The supervisor of its platforms."""
        return self._platforms

    async def replace_config(self, config: GatewayConfig) -> ConfigReplaced:
        """Apply other settings; see :meth:`PlatformSupervisor.replace_config`."""
        usable, waiting = split_live_changes(self._runner.config, config)
        self._runner.state.use_config(usable)
        return ConfigReplaced(await self._platforms.replace_config(usable), waiting)

    # Lifecycle

    async def start(self) -> None:
        """Start; returns when each platform was tried once.

        Raises:
            HermesError: It cannot run.
        """
        await self._parts.plugins.ready()
        self._runner.hooks = self._hooks = self._parts.plugins.event_hooks()
        await self._runner.start()
        for asking in (self._runner.state.approvals, self._runner.state.questions):
            if asking is not None:
                asking.open()
        self._quiet_watch.start()
        wanted = self._runner.config.get_connected_platforms()
        await self._parts.worker.run(self._parts.registry.load, wanted)
        await self._platforms.start()
        self._parts.background.add(self._runner)
        await self._runner.parts.life_cycle.announce_startup()

    async def leave(self, wish: StopRequests) -> None:
        """Accept no new turns, let running ones finish, and disconnect the platforms in time.

        Args:
            wish: The requests to end; platforms are disconnected first if a request comes from
                another process, else after the turns.
        """
        self._quiet_watch.stop()
        self._parts.background.remove(self._runner)
        for asking in (self._runner.state.approvals, self._runner.state.questions):
            if asking is not None:
                asking.close()  # turns that wait for an approval or answer end then
        stopping = [asyncio.ensure_future(self._stop_runner(wish.now()))]
        try:
            platforms_stop = False
            while not stopping[0].done():
                changed = wish.changed()
                if wish.now().from_outside and not platforms_stop:
                    platforms_stop = True
                    stopping.append(asyncio.ensure_future(self._platforms.stop()))
                await asyncio.wait({stopping[0], changed}, return_when=asyncio.FIRST_COMPLETED)
                if changed.done():
                    stopping.append(asyncio.ensure_future(self._stop_runner(wish.now())))
                changed.cancel()
            await asyncio.gather(*stopping)
        finally:
            for each in stopping:
                each.cancel()
            await self._platforms.stop()
            self._mail_worker.submit(self._own.close)
            self._mail_worker.close()
            if self._hooks is not None:
                self._hooks.close()

    async def release_tokens(self) -> None:
        """Release every token lock that is still held."""
        await self._parts.worker.run(self._parts.locks.release_all)

    async def renew(self, record: GatewayRecord) -> None:
        """Rewrite the token locks to name another identity process."""
        self._record = record
        lost = await self._parts.worker.run(self._parts.locks.rename_all, record)
        for name, owner in lost.items():
            platform = self.serves(name)
            if platform is not None:
                self._platforms.token_lost(platform, owner)

    def _apply_drain_request(self, wanted: bool) -> None:  # noqa: FBT001 - what was found
        """Refuse new turns for as long as the drain request file exists."""
        self._runner.parts.status.refuse_turns(asked_to_drain() if wanted else None)
        self._calls.explain(asked_to_drain().title if wanted else "")

    async def _stop_runner(self, ending: Ending) -> None:
        """Stop the runner; a repeated call only makes it quicker."""
        now = self._parts.clock.monotonic()
        await self._runner.stop(
            max(0.0, ending.drain_until - now),
            drain_until=ending.drain_until,
            deadline=ending.deadline,
            restart=ending.comes_back,
        )

    def _mail_parts(self, config: GatewayConfig) -> DeliveryDependencies:
        parts = self._parts
        return DeliveryDependencies(
            home=parts.paths.home,
            db=parts.db,
            own=self._own,
            owner=lambda: Owner(self._record.pid, self._record.start_time),
            workers=self._mail_worker,
            redactor=parts.redactor,
            notify=parts.bus.publish,
            clock=parts.clock,
            keeps_outbox=config.running.delivery_ledger,
        )

    # Status

    def health(self) -> tuple[PlatformHealth, ...]:
        """Return the current health of the platforms, sorted by name."""
        return self._platforms.health()

    def _wire(self, adapter: PlatformAdapter) -> None:
        self._runner.parts.incoming.expect(adapter.platform)
        adapter.set_message_handler(self._runner.accept)
        adapter.set_interrupt_handler(self._runner.interrupt)
        adapter.set_moved_handler(partial(self._runner.parts.incoming.chat_moved, adapter.platform))

    def _note(self, report: RunnerReport) -> None:
        self._report = report
        self._tell()

    def _tell(self) -> None:
        self._calls.announce(replace(self._report, platforms=self._platforms.health()))


def _store(parts: HostedParts, config: GatewayConfig) -> SessionStore:
    return SessionStore(
        config.sessions_dir or parts.paths.sessions_dir,
        config,
        db=parts.db,
        clock=parts.clock,
        namespace=parts.paths.namespace,
        has_active_processes_fn=parts.background.is_busy,
    )
