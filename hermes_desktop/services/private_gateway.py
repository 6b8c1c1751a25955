"""The gateway that serves the chat of this machine alone, and what it is made of."""

from dataclasses import dataclass

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config import GatewayConfig
from hermes_desktop.gateway.platforms.desktop import DesktopAdapter
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.gateway.runner_state import MAX_TURNS
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.services.agent_builder import AgentBuilder
from hermes_desktop.state import AsyncSessionDB, SessionDB


@dataclass(frozen=True, slots=True)
class Workers:
    """The threads that block so that the loop does not."""

    readers: WorkerThreads
    writers: WorkerThreads
    search: WorkerThreads
    bulk: WorkerThreads
    turns: WorkerThreads

    @classmethod
    def named(cls) -> "Workers":
        """Make them under the names that the architecture page lists."""
        return cls(
            readers=WorkerThreads("state-read"),
            writers=WorkerThreads("state-write"),
            search=WorkerThreads("state-search"),
            bulk=WorkerThreads("state-bulk"),
            turns=WorkerThreads("agent-turn", size=MAX_TURNS),
        )

    def close(self) -> None:
        """Take no more calls. Never waits."""
        for worker in (self.turns, self.bulk, self.search, self.writers, self.readers):
            worker.close()


def build_private_gateway(
    paths: HermesPaths,
    db: SessionDB,
    bus: EventBus,
    workers: Workers,
    builder: AgentBuilder,
    clock: Clock,
) -> tuple[GatewayRunner, DesktopAdapter]:
    """Join a runner to the desktop's own chat. It writes none of the gateway's files."""
    config = GatewayConfig()
    store = SessionStore(
        paths.sessions_dir, config, db=db, clock=clock, persist=False, namespace=paths.namespace
    )
    session_db = AsyncSessionDB(db, read=workers.readers, write=workers.writers)
    adapter = DesktopAdapter(session_store=store, session_db=session_db, bus=bus, clock=clock)
    runner = GatewayRunner(
        config,
        session_store=store,
        session_db=session_db,
        agent_factory=builder.build,
        agent_settings=builder.fingerprint,
        bus=bus,
        turn_workers=workers.turns,
        clock=clock,
        adapters=[adapter],
    )
    return runner, adapter
