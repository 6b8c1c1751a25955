"""The services of a gateway without a window, for ``hermes-desktop gateway run``."""

import asyncio
from dataclasses import dataclass

from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.token_locks import TokenLocks, locks_folder
from hermes_desktop.gateway.platforms.registry import AdapterRegistry
from hermes_desktop.gateway.platforms.shipped import shipped_platforms
from hermes_desktop.gateway.runner.state import MAX_TURNS
from hermes_desktop.gateway.turns.program_locks import ProgramLocks
from hermes_desktop.services.agents.agent_builder import AgentBuilder
from hermes_desktop.services.agents.agent_tools import AgentTools
from hermes_desktop.services.agents.background_care import BackgroundNotifier
from hermes_desktop.services.agents.plugin_care import PluginManager
from hermes_desktop.services.assembly.history_upkeep import HistoryMaintenance, while_hosting
from hermes_desktop.services.assembly.settings_joining import SettingsPoller, build_settings_service
from hermes_desktop.services.hosting.gateway_host import DRAIN_S, GatewayHost, HostSetup
from hermes_desktop.services.hosting.hosted_gateway import HostedParts
from hermes_desktop.services.hosting.private_gateway import Workers
from hermes_desktop.services.sessions.open_turns import ForeignTurns
from hermes_desktop.services.settings.setting_writer import list_extender
from hermes_desktop.state import AsyncSessionDB, SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from hermes_desktop.state.conversations.session_prompts import SessionPrompts


@dataclass(slots=True)
class GatewayServices:
    """All services of a hosted gateway, without a desktop chat.

    Built by :func:`.assembly.build_gateway`. Nothing starts automatically: ``await start()``, then
    ``await gateway.start()``, then check ``gateway.status``.
    """

    paths: HermesPaths
    bus: EventBus
    gateway: GatewayHost
    db: SessionDB
    workers: Workers
    plugins: PluginManager
    settings: SettingsPoller
    background: BackgroundNotifier
    tools: AgentTools
    prompts: SessionPrompts
    upkeep: HistoryMaintenance
    tasks: TaskSet

    async def start(self) -> None:
        """Start watching which gateway has the home; awaited on the loop that serves it."""
        self.plugins.open(self.bus)
        await self.background.open(self.workers.readers)
        await self.gateway.open()
        self.settings.start()
        self.tasks.start(self.upkeep.run(), name="old sessions")

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Stop the gateway, release the home, close everything.

        Args:
            drain_s: Seconds that running turns are given to finish; ``gateway.hurry()`` cuts it
                short.
        """
        self.tools.end_asking()
        await self.settings.stop()
        await self.tasks.cancel_all()
        await self.gateway.close(drain_s=drain_s)
        await self.background.close(self.workers.readers)
        await self.workers.readers.run(self.plugins.close)
        await self.workers.readers.run(self.prompts.close)
        await self.workers.bulk.run(self.db.close)  # after a running deletion
        self.workers.close()


@dataclass(frozen=True, slots=True)
class Foundation:
    """What all parts of a program that hosts a gateway share.

    Attributes:
        db: The conversations.
        bus: The event bus.
        workers: The worker threads.
        tools: The tools of the agents, with a queue for their questions.
    """

    db: SessionDB
    bus: EventBus
    workers: Workers
    tools: AgentTools


def foundation(setup: HostSetup, redactor: SecretRedactor, clock: Clock) -> Foundation:
    """Build what the parts of a program share."""
    db = SessionDB(setup.paths.state_db, clock=clock)
    tools = AgentTools(
        setup.paths,
        db,
        RequestQueue(clock),
        environ=setup.environ,
        redactor=redactor,
        clock=clock,
        add_to_setting=list_extender(setup.paths, setup.environ, clock),
    )
    return Foundation(db, EventBus(), Workers.named(), tools)


def join_gateway(
    setup: HostSetup,
    *,
    redactor: SecretRedactor,
    clock: Clock,
    registry: AdapterRegistry | None,
) -> GatewayServices:
    """Build everything once; see :func:`.assembly.build_gateway`."""
    base = foundation(setup, redactor, clock)
    db, bus, workers = base.db, base.bus, base.workers
    parts = hosted_parts(setup, base, redactor=redactor, clock=clock, registry=registry)
    gateway = GatewayHost(setup, parts, None, bus, clock)
    return GatewayServices(
        paths=setup.paths,
        bus=bus,
        gateway=gateway,
        settings=SettingsPoller(setup, build_settings_service(parts, gateway)),
        db=db,
        workers=workers,
        plugins=parts.plugins,
        background=parts.background,
        tools=base.tools,
        prompts=parts.builder.prompts,
        upkeep=HistoryMaintenance(
            setup.paths, db, workers.bulk, clock, left_alone=while_hosting(gateway, only_then=True)
        ),
        tasks=TaskSet(),
    )


def hosted_parts(
    setup: HostSetup,
    base: Foundation,
    *,
    redactor: SecretRedactor,
    clock: Clock,
    registry: AdapterRegistry | None,
    offline: bool = False,
) -> HostedParts:
    """Build the dependencies shared by the messaging platforms' gateway and the desktop's chat.

    Args:
        setup: The home and the configuration of the host.
        base: What its parts share.
        redactor: The log redactor that the tokens are registered with.
        clock: The clock.
        registry: The platforms that can be served; None for those that the program ships.
        offline: The models are scripted.
    """
    db, bus, workers = base.db, base.bus, base.workers
    builder = AgentBuilder(
        setup.paths, db, redactor, setup.environ, offline=offline, clock=clock, tools=base.tools
    )
    conversations = ConversationLocks(db, setup.paths.desktop_dir, setup.program)
    return HostedParts(
        paths=setup.paths,
        db=db,
        session_db=AsyncSessionDB(db, read=workers.readers, write=workers.writers),
        builder=builder,
        turns=workers.turns,
        turn_leases=KeyedLocks(),
        turn_slots=asyncio.Semaphore(MAX_TURNS),
        conversations=conversations,
        program_locks=ProgramLocks(conversations, workers.locks, bus),
        open_turns=ForeignTurns(db, clock, conversations),
        registry=shipped_platforms() if registry is None else registry,
        locks=TokenLocks(locks_folder(setup.environ), clock),
        worker=workers.hosting,
        commands=workers.commands,
        environ=setup.environ,
        redactor=redactor,
        bus=bus,
        clock=clock,
        background=BackgroundNotifier(builder.processes, bus),
        plugins=PluginManager(setup.paths, environ=setup.environ, redactor=redactor, clock=clock),
    )
