"""The private gateway, which serves only the desktop's own chat, and its worker threads."""

from dataclasses import dataclass

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.gateway.platforms.desktop import DesktopAdapter
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.gateway.runner.claims import MOST_LENT
from hermes_desktop.gateway.runner.state import MAX_TURNS
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.services.agents.own_commands import quick_section
from hermes_desktop.services.hosting.hosted_commands import install_commands
from hermes_desktop.services.hosting.hosted_gateway import HostedParts


@dataclass(frozen=True, slots=True)
class Workers:
    """The worker threads for blocking calls, which keep the event loop free."""

    readers: WorkerThreads
    writers: WorkerThreads
    search: WorkerThreads
    bulk: WorkerThreads
    turns: WorkerThreads
    hosting: WorkerThreads
    commands: WorkerThreads
    locks: WorkerThreads

    @classmethod
    def named(cls) -> "Workers":
        """Create the worker threads under the names listed in the architecture page."""
        return cls(
            readers=WorkerThreads("state-read"),
            writers=WorkerThreads("state-write"),
            search=WorkerThreads("state-search", size=2),
            bulk=WorkerThreads("state-bulk"),
            turns=WorkerThreads("agent-turn", size=MAX_TURNS + 2 * MOST_LENT),
            hosting=WorkerThreads("gateway-host"),
            commands=WorkerThreads("gateway-commands", size=2),
            locks=WorkerThreads("conversation-lock"),
        )

    def close(self) -> None:
        """Accept no more calls. Never waits."""
        for worker in (
            self.commands,
            self.hosting,
            self.turns,
            self.locks,
            self.bulk,
            self.search,
            self.writers,
            self.readers,
        ):
            worker.close()


def build_private_gateway(parts: HostedParts) -> tuple[GatewayRunner, DesktopAdapter]:
    """Build a runner with the desktop's own chat. It writes none of the gateway's files.

    Args:
        parts: The dependencies shared with the gateway that serves the messaging platforms.
    """
    config = GatewayConfig(quick_commands=quick_section(parts.paths))
    store = SessionStore(
        parts.paths.sessions_dir,
        config,
        db=parts.db,
        clock=parts.clock,
        persist=False,
        namespace=parts.paths.namespace,
        has_active_processes_fn=parts.background.is_busy,
    )
    adapter = DesktopAdapter(
        session_store=store,
        session_db=parts.session_db,
        bus=parts.bus,
        clock=parts.clock,
        new_folder=parts.builder.new_folder,
    )
    runner = GatewayRunner(
        config,
        session_store=store,
        session_db=parts.session_db,
        agent_factory=parts.builder.build,
        agent_settings=parts.builder.fingerprint,
        bus=parts.bus,
        turn_workers=parts.turns,
        turn_leases=parts.turn_leases,
        turn_slots=parts.turn_slots,
        clock=parts.clock,
        adapters=[adapter],
    )
    runner.state.program_locks = parts.program_locks
    if parts.builder.requests is not None:
        runner.state.rooms = (parts.builder.requests,)
    install_commands(runner, parts)
    parts.background.add(runner)
    return runner, adapter
