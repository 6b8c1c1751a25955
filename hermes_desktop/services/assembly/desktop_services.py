"""The services of the desktop program, joined, for the window and the command-line chat."""

import asyncio
from dataclasses import dataclass, field

from hermes_desktop.agent.tools.processes.process_table import ProcessInfo
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.access.pairing import PairingStore
from hermes_desktop.gateway.platforms.desktop import DesktopAdapter
from hermes_desktop.gateway.platforms.registry import AdapterRegistry
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.services.agents.agent_tools import AgentTools
from hermes_desktop.services.agents.background_care import BackgroundNotifier
from hermes_desktop.services.agents.model_servers import ModelServers
from hermes_desktop.services.agents.plugin_care import PluginManager
from hermes_desktop.services.agents.session_figures import SessionStatistics
from hermes_desktop.services.agents.user_requests import UserRequests
from hermes_desktop.services.assembly.history_upkeep import HistoryMaintenance, while_hosting
from hermes_desktop.services.assembly.hosting_services import foundation, hosted_parts
from hermes_desktop.services.assembly.settings_joining import build_settings_service, watch_settings
from hermes_desktop.services.assembly.window_state import WindowState
from hermes_desktop.services.diagnosis.diagnostics import Diagnostics
from hermes_desktop.services.hosting.desktop_chat import DesktopChat
from hermes_desktop.services.hosting.gateway_host import GatewayHost, HostSetup
from hermes_desktop.services.hosting.hosted_gateway import HostedParts
from hermes_desktop.services.hosting.pairing_requests import PairingRequests
from hermes_desktop.services.hosting.private_gateway import Workers, build_private_gateway
from hermes_desktop.services.sessions.condition_watch import ConditionWatch
from hermes_desktop.services.sessions.live_actions import AsyncSessionActions
from hermes_desktop.services.sessions.live_catalog import AsyncSessionList
from hermes_desktop.services.sessions.live_undo import AsyncTurnUndo
from hermes_desktop.services.sessions.open_turns import OwnTurns
from hermes_desktop.services.sessions.session_actions import SessionActions
from hermes_desktop.services.sessions.session_changes import TurnChanges
from hermes_desktop.services.sessions.session_search import SessionSearch
from hermes_desktop.services.sessions.state_watch import Beside, PairingWatch, StateWatch
from hermes_desktop.services.sessions.transcript import TranscriptReader
from hermes_desktop.services.sessions.turn_undo import TurnUndoing
from hermes_desktop.services.sessions.workplace import Workplaces
from hermes_desktop.services.settings.desktop_config import read_desktop_config
from hermes_desktop.services.settings.sandbox_check import SandboxCheck
from hermes_desktop.services.settings.settings_service import SettingsService
from hermes_desktop.services.updates.update_watch import UpdateWatch
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.session_prompts import SessionPrompts
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase


@dataclass(slots=True)
class DesktopServices:
    """All services used by the window, or by a chat on the command line.

    Built by :func:`join_parts`; :meth:`start` and :meth:`close` are awaited on the event loop.

    Attributes:
        prompts: The system prompts that agents here send; closed with the rest.
        hosts: Whether the gateway of the home may be hosted here at all.
        ended_processes: The background processes that closing ended, to be reported to the user.
    """

    paths: HermesPaths
    bus: EventBus
    catalog: AsyncSessionList
    actions: AsyncSessionActions
    search: SessionSearch
    transcript: TranscriptReader
    chat: DesktopChat
    gateway: GatewayHost
    pairing: PairingRequests
    undo: AsyncTurnUndo
    watch: StateWatch
    db: SessionDB
    workers: Workers
    plugins: PluginManager
    background: BackgroundNotifier
    settings: SettingsService
    models: ModelServers
    requests: UserRequests
    figures: SessionStatistics
    prompts: SessionPrompts
    upkeep: HistoryMaintenance
    window_state: WindowState
    workplaces: Workplaces
    updates: UpdateWatch
    diagnosis: Diagnostics
    sandbox: SandboxCheck = field(default_factory=SandboxCheck)
    tasks: TaskSet = field(default_factory=TaskSet)
    hosts: bool = True
    ended_processes: tuple[ProcessInfo, ...] = ()

    async def start(self, *, watch: bool = True) -> None:
        """Start the desktop's own chat and, for a window, the watching of database and gateway.

        The gateway of the messaging platforms starts automatically if that is switched on; this
        method does not wait for it.
        """
        self.plugins.open(self.bus)
        if not watch:  # a single question; a window does not wait for them
            await self.plugins.ready()
        if watch:  # a single question on the command line must not use the window's file
            self.background.keep_tasks(self.paths.desktop_dir / "background-window.json")
        await self.background.open(self.workers.readers)
        await self.gateway.open(host=watch and self.hosts)
        if watch:
            self.tasks.start(self.watch.run(), name="state-watch")
            self.tasks.start(self.actions.tidy_later(), name="tidy-trash")
            self.tasks.start(self.settings.start_following(), name="settings")
            if self.hosts:
                self.tasks.start(self.upkeep.run(), name="old sessions")
            self.tasks.start(self.updates.run(), name="updates")
            # The first check only sets the baseline. It is queued now, so that whatever is read
            # from here on is read after it, on the same thread.
            await asyncio.sleep(0)

    async def close(self, *, drain_s: float = 15.0) -> None:
        """Close everything in reverse order; running turns get ``drain_s`` seconds to end.

        ``gateway.status.detail`` says what is waited for; ``gateway.hurry()`` ends the wait. No
        turn waits for the user any more.
        """
        self.requests.end()
        await self.window_state.flush()
        await self.settings.stop_following()
        await self.gateway.close(drain_s=drain_s)
        self.ended_processes = await self.background.close(self.workers.readers)
        await self.workers.readers.run(self.plugins.close)
        self.search.cancel()
        await self.tasks.cancel_all()
        await self.actions.close()
        self.settings.close()
        self.models.close()
        self.workplaces.close()
        self.sandbox.close()
        self.diagnosis.close()
        self.figures.close()
        await self.workers.readers.run(self.watch.close)
        await self.workers.readers.run(self.prompts.close)
        await self.window_state.close()
        await self.updates.close()
        await self.workers.readers.run(self.db.close)
        self.workers.close()


def join_parts(
    setup: HostSetup,
    *,
    redactor: SecretRedactor,
    offline: bool,
    clock: Clock,
    registry: AdapterRegistry | None,
    hosts: bool,
) -> DesktopServices:
    """Build everything once; see :func:`.assembly.build_services`."""
    paths = setup.paths
    base = foundation(setup, redactor, clock)
    db, bus, workers, tools = base.db, base.bus, base.workers, base.tools
    parts = hosted_parts(
        setup, base, redactor=redactor, clock=clock, registry=registry, offline=offline
    )
    runner, adapter = build_private_gateway(parts)
    catalog = AsyncSessionList(db, workers.readers, workers.writers)
    transcript, watcher = TranscriptReader(db, workers.readers), ChangeWatcher(paths.state_db)
    gateway = GatewayHost(setup, parts, runner, bus, clock)
    settings = build_settings_service(parts, gateway)
    looks, turns = _looks(setup, parts, settings), OwnTurns(db, bus, clock, parts.open_turns)
    watch = StateWatch(watcher, catalog, transcript, workers.readers, bus, *looks)
    return DesktopServices(
        paths=paths,
        bus=bus,
        catalog=catalog,
        actions=_actions(parts, turns, workers, catalog, watch),
        search=SessionSearch(db, workers.search),
        transcript=transcript,
        chat=_chat(parts, runner, adapter, workers),
        gateway=gateway,
        pairing=_pairing(paths, workers, bus, clock),
        undo=_undo(parts, tools, adapter, turns, workers, watch),
        watch=watch,
        db=db,
        workers=workers,
        plugins=parts.plugins,
        background=parts.background,
        settings=settings,
        models=ModelServers(paths, setup.environ, redactor),
        requests=UserRequests(tools.queue, bus),
        figures=SessionStatistics(db, parts.builder),
        prompts=parts.builder.prompts,
        upkeep=_upkeep(parts, workers, gateway),
        window_state=WindowState(DesktopDatabase(paths.own_store), workers.writers, clock),
        workplaces=Workplaces(db, tools, adapter.chat_key, workers.writers, checks=not offline),
        updates=_updates(setup, bus, clock),
        diagnosis=Diagnostics(paths),
        hosts=hosts,
    )


def _updates(setup: HostSetup, bus: EventBus, clock: Clock) -> UpdateWatch:
    return UpdateWatch(
        DesktopDatabase(setup.paths.own_store),
        bus,
        clock,
        setup.environ,
        allowed=lambda: read_desktop_config(setup.paths).check_updates,
    )


def _looks(
    setup: HostSetup, parts: HostedParts, settings: SettingsService
) -> tuple[PairingWatch, tuple[Beside, ...]]:
    """Return what else the state watcher checks: pairing, settings, and the store's condition."""
    condition = ConditionWatch(parts.db, parts.bus)
    beside = (
        Beside(watch_settings(setup).look, settings.noticed),
        Beside(condition.look, condition.changed),
    )
    return PairingWatch(parts.paths.home), beside


def _actions(
    parts: HostedParts,
    turns: OwnTurns,
    workers: Workers,
    catalog: AsyncSessionList,
    watch: StateWatch,
) -> AsyncSessionActions:
    """Build the session actions, which leave sessions with a running turn alone."""
    return AsyncSessionActions(
        SessionActions(
            parts.db, parts.paths.own_store, clock=parts.clock, running_turn=turns.turn_in
        ),
        parts.db,
        writers=workers.writers,
        bulk=workers.bulk,
        catalog=catalog,
        watch=watch,
    )


def _upkeep(parts: HostedParts, workers: Workers, gateway: GatewayHost) -> HistoryMaintenance:
    reason = while_hosting(gateway, only_then=False)
    return HistoryMaintenance(parts.paths, parts.db, workers.bulk, parts.clock, left_alone=reason)


def _pairing(paths: HermesPaths, workers: Workers, bus: EventBus, clock: Clock) -> PairingRequests:
    store = PairingStore(paths.home, clock)
    return PairingRequests(store, worker=workers.writers, bus=bus, clock=clock)


def _undo(
    parts: HostedParts,
    tools: AgentTools,
    adapter: DesktopAdapter,
    turns: OwnTurns,
    workers: Workers,
    watch: StateWatch,
) -> AsyncTurnUndo:
    undoing = TurnUndoing(parts.db, tools.undo, parts.conversations, turns.turn_in)
    changes = TurnChanges(parts.db, tools.undo, turns.turn_in)
    return AsyncTurnUndo(
        undoing, changes, worker=workers.bulk, watch=watch, answering=adapter.running
    )


def _chat(
    parts: HostedParts, runner: GatewayRunner, adapter: DesktopAdapter, workers: Workers
) -> DesktopChat:
    chat = DesktopChat(
        adapter,
        parts.db,
        readers=workers.readers,
        writers=workers.writers,
        choose_model=parts.builder.choose_model,
        bus=parts.bus,
        clock=parts.clock,
        paths=parts.paths,
        turns=parts.open_turns,
    )
    runner.state.turn_gate = chat.pass_gate
    return chat
