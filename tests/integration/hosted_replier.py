"""Hosts the gateway of a home until it is killed. A program.

    python -m tests.integration.hosted_replier HOME LOCKS

Prints every state that its gateway reaches.
"""

import asyncio
import sys
from pathlib import Path

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.desktop_services import join_parts
from hermes_desktop.services.hosting.gateway_host import HostSetup
from tests.fakes.hosting import NO_SERVICES
from tests.fakes.socket_platform import socket_registry


async def main(home: Path, locks: str) -> None:
    setup = HostSetup(
        HermesPaths(home, home),
        {"HERMES_GATEWAY_LOCK_DIR": locks, "PATH": ""},
        autostart=False,
        checks=NO_SERVICES,
    )
    services = join_parts(
        setup,
        redactor=SecretRedactor(),
        offline=False,
        clock=SystemClock(),
        registry=socket_registry(),
        hosts=True,
    )
    services.bus.subscribe(
        GatewayStatusChanged, lambda status: print(status.state, status.detail, flush=True)
    )
    await services.start(watch=True)
    await services.gateway.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
