"""A gateway without a window: what ``hermes-desktop gateway run`` works with."""

from collections.abc import Mapping
from dataclasses import dataclass

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agent_builder import AgentBuilder
from hermes_desktop.services.gateway_host import DRAIN_S, GatewayHost
from hermes_desktop.services.private_gateway import Workers, build_private_gateway
from hermes_desktop.state import SessionDB


@dataclass(slots=True)
class GatewayServices:
    """Everything a hosted gateway works with, and no desktop chat.

    Built by :func:`hermes_desktop.services.assembly.build_gateway`. Nothing starts by itself:
    ``await start()``, then ``await gateway.start()`` and look at ``gateway.status``.
    """

    paths: HermesPaths
    bus: EventBus
    gateway: GatewayHost
    db: SessionDB
    workers: Workers

    async def start(self) -> None:
        """Begin to watch who is the gateway of the home; awaited on the loop that serves it."""
        await self.gateway.open()

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Stop the gateway, give the home back, close everything.

        Args:
            drain_s: How long running turns may take to end by themselves;
                ``gateway.hurry()`` cuts it short.
        """
        await self.gateway.close(drain_s=drain_s)
        await self.workers.readers.run(self.db.close)
        self.workers.close()


def join_gateway(
    paths: HermesPaths,
    *,
    redactor: SecretRedactor,
    clock: Clock,
    environ: Mapping[str, str],
    registry: object | None,
) -> GatewayServices:
    """Build everything once; see :func:`hermes_desktop.services.assembly.build_gateway`."""
    del registry
    db = SessionDB(paths.state_db, clock=clock)
    bus = EventBus()
    workers = Workers.named()
    builder = AgentBuilder(paths, db, redactor, environ, offline=False, clock=clock)
    runner, _ = build_private_gateway(paths, db, bus, workers=workers, builder=builder, clock=clock)
    return GatewayServices(
        paths=paths, bus=bus, gateway=GatewayHost(runner, bus), db=db, workers=workers
    )
