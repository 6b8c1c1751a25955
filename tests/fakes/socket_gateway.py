"""A hosted gateway over the socket platform: everything is real but the model."""

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.delivery.delivery import DeliveryDependencies
from hermes_desktop.gateway.delivery.sending import SendPolicy
from hermes_desktop.gateway.platforms.platform_supervisor import (
    PlatformSupervisor,
    SupervisorWiring,
)
from hermes_desktop.gateway.platforms.registry import AdapterFactory, AdapterRegistry
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.state import AsyncSessionDB, SessionDB
from hermes_desktop.state.shared_tables.delivery_store import Owner
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from tests.fakes.agents import CountingFactory, ScriptedModel
from tests.fakes.socket_platform import QUICK, make_socket_platform, socket_config


@dataclass
class SocketGateway:
    """The parts of the gateway that tests access."""

    runner: GatewayRunner
    platforms: PlatformSupervisor
    db: SessionDB
    own: DesktopDatabase
    model: ScriptedModel
    notices: list[Notice] = field(default_factory=list)

    def unsettled(self) -> list[str]:
        """Return the replies that are owed and the messages that are not done."""
        owed = [each.content for each in self.db.open_deliveries(["telegram"])]
        waiting = self.own.read(
            lambda conn: conn.execute("SELECT event FROM inbox WHERE state <> 'done'").fetchall(),
            default=[],
        )
        return [*owed, *(row[0] for row in waiting)]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in progress, owed or waiting."""
        tasks = len(self.runner.state.message_tasks) or len(self.runner.state.notices)
        return not tasks and not self.unsettled()


@contextlib.asynccontextmanager
async def socket_gateway(
    folder: Path,
    port: int,
    *,
    make: AdapterFactory = make_socket_platform,
    db_kind: type[SessionDB] = SessionDB,
    own_kind: type[DesktopDatabase] = DesktopDatabase,
    send_policy: SendPolicy | None = None,
    **extra: Any,
) -> AsyncIterator[SocketGateway]:
    """Run a gateway with one Telegram bot, which is the chat service at this port.

    Args:
        folder: The home.
        port: See :mod:`tests.fakes.socket_platform`.
        make: Creates the adapter.
        db_kind: Class of the session database.
        own_kind: Class of the program's own store.
        send_policy: Retry behavior of sending.
        extra: Further settings of the platform.
    """
    db, own = db_kind(folder / "state.db"), own_kind(folder / "desktop.db")
    turns, mail = WorkerThreads("agent-turn", size=10), WorkerThreads("gateway-mail")
    session_db = AsyncSessionDB(db)
    config = GatewayConfig(platforms={Platform.TELEGRAM: socket_config(port, **extra)})
    model, bus = ScriptedModel(), EventBus()
    runner = GatewayRunner(
        config,
        session_store=SessionStore(folder / "sessions", config, db=db),
        session_db=session_db,
        agent_factory=CountingFactory(db, model),
        bus=bus,
        turn_workers=turns,
        home=folder,
    )
    us = Owner(os.getpid(), process_facts.start_time(os.getpid()))
    notices: list[Notice] = []
    bus.subscribe(Notice, notices.append)
    runner.parts.replies.use_mail(
        DeliveryDependencies(
            folder, db, own, lambda: us, mail, notify=bus.publish, send_policy=send_policy
        )
    )

    def wire(adapter: Any) -> None:
        adapter.set_message_handler(runner.accept)
        adapter.set_interrupt_handler(runner.interrupt)

    connected = runner.parts.life_cycle.platform_connected
    platforms = PlatformSupervisor(
        config,
        AdapterRegistry({Platform.TELEGRAM: make}, timing=QUICK),
        runner.adapters,
        SupervisorWiring(wire=wire, connected=connected, notify=bus.publish),
    )
    await runner.start()
    await platforms.start()
    try:
        yield SocketGateway(runner, platforms, db, own, model, notices)
    finally:
        model.hold.set()
        await runner.stop(5.0)
        await platforms.stop()
        session_db.close_workers()
        for workers in (turns, mail):
            workers.close()
        own.close()
        db.close()
