"""A whole gateway on a private state.db: everything is real but the model and the platform."""

import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import enumerate as threads
from typing import Any, TypeVar

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import (
    SessionReset,
    TurnDelta,
    TurnFinished,
    TurnQueued,
    TurnStarted,
)
from hermes_desktop.gateway.config.gateway_config import (
    GatewayConfig,
    Platform,
    PlatformConfig,
    RunningSettings,
)
from hermes_desktop.gateway.platforms.desktop import DesktopAdapter
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.gateway.runner.state import RunnerReport
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.state import AsyncSessionDB, SessionDB
from tests.fakes.agents import CountingFactory, ScriptedModel
from tests.fakes.platform import FakePlatform
from tests.support.waiting import until

ALLOWED = GatewayConfig(
    platforms={Platform.TELEGRAM: PlatformConfig(extra={"allow_from": "u1"})},
    running=RunningSettings(busy_input_mode="queue", busy_ack_enabled=False),
)

E = TypeVar("E")

OWN_THREADS = ("gateway-hooks", "gateway-side")
"""Threads that a runner creates for itself, and must not leave behind."""


@dataclass
class RunningGateway:
    """The parts of a gateway that tests access."""

    runner: GatewayRunner
    desktop: DesktopAdapter
    telegram: FakePlatform
    db: SessionDB
    store: SessionStore
    model: ScriptedModel
    factory: CountingFactory
    reports: list[RunnerReport]
    events: list[Any] = field(default_factory=list)
    _turns: int = 0

    async def say(
        self, text: str, session_id: str | None = None, *, source_tag: str = "desktop"
    ) -> TurnFinished:
        """Submit a message in the window and wait for the end of its turn."""
        return await self.desktop.wait(await self.submit(text, session_id, source_tag=source_tag))

    async def submit(
        self, text: str, session_id: str | None = None, *, source_tag: str = "desktop"
    ) -> str:
        """Submit a message in the window; return the turn's id."""
        self._turns += 1
        sent = await self.desktop.submit(
            text=text, session_id=session_id, turn_id=f"t{self._turns}", source_tag=source_tag
        )
        return sent.turn_id

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one class so far."""
        return [event for event in self.events if isinstance(event, kind)]

    def rows(self, session_id: str) -> list[tuple[str, str]]:
        """Return the stored messages of a session."""
        return [(row["role"], row["content"]) for row in self.db.get_messages(session_id)]


@contextlib.asynccontextmanager
async def running_gateway(
    db_path: Path,
    *,
    config: GatewayConfig = ALLOWED,
    clock: Clock | None = None,
    hosted: bool = False,
    telegram: FakePlatform | None = None,
    store_kind: type[SessionStore] = SessionStore,
    **parts: Any,
) -> AsyncIterator[RunningGateway]:
    """Start a gateway, and stop it afterwards, even if the test fails.

    Args:
        db_path: The database; its folder is the home.
        config: The settings.
        clock: Provides all times.
        hosted: Whether it is the gateway of the home and stores chats there; else it is private.
        telegram: Its platform, if a test needs that before the start.
        store_kind: The class that stores its chats.
        parts: Further arguments of the runner.
    """
    clock = clock or SystemClock()
    db = SessionDB(db_path, clock=clock)
    read, write, turns = (
        WorkerThreads("state-read"),
        WorkerThreads("state-write"),
        WorkerThreads("agent-turn", size=10),
    )
    session_db = AsyncSessionDB(db, read=read, write=write)
    bus = EventBus()
    folder = db_path.parent / "sessions" if hosted else db_path.parent
    store = store_kind(folder, config, db=db, clock=clock, persist=hosted)
    model = ScriptedModel()
    factory = CountingFactory(db, model)
    desktop = DesktopAdapter(session_store=store, session_db=session_db, bus=bus, clock=clock)
    telegram = telegram or FakePlatform()
    reports: list[RunnerReport] = []
    runner = GatewayRunner(
        config,
        announce=reports.append,
        session_store=store,
        session_db=session_db,
        agent_factory=factory,
        bus=bus,
        turn_workers=turns,
        clock=clock,
        adapters=(desktop, telegram),
        home=db_path.parent if hosted else None,
        **parts,
    )
    gateway = RunningGateway(runner, desktop, telegram, db, store, model, factory, reports)
    for kind in (TurnQueued, TurnStarted, TurnDelta, TurnFinished, SessionReset):
        bus.subscribe(kind, gateway.events.append)
    await runner.start()
    try:
        yield gateway
    finally:
        model.hold.set()
        await runner.stop(drain_s=5.0)
        await until(lambda: not any(t.name.startswith(OWN_THREADS) for t in threads()))
        for workers in (read, write, turns):
            workers.close()
        db.close()


def in_other_process(db_path: Path, code: str) -> None:
    """Run code on ``db`` (a SessionDB of the same file) in a separate process."""
    program = (
        "import sys; from pathlib import Path; from hermes_desktop.state import SessionDB\n"
        f"db = SessionDB(Path(sys.argv[1]))\n{code}\ndb.close()\n"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(db_path)],
        check=True,
        cwd=Path(__file__).parents[2],
        timeout=60,
    )
