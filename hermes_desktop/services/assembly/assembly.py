"""Builders of the program's services, each for one kind of program.

Imports are inside the builders, so that a session list on the command line does not load asyncio,
httpx, keyring or Qt.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hermes_desktop.core.clock import Clock, SystemClock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_desktop.core.log_setup import SecretRedactor
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.gateway.platforms.registry import AdapterRegistry
    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.services.assembly.hosting_services import GatewayServices


def build_services(  # noqa: PLR0913 - what surrounds the program
    paths: HermesPaths,
    *,
    redactor: SecretRedactor,
    offline: bool = False,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    registry: AdapterRegistry | None = None,
    hosts: bool = True,
    autostart: bool = True,
    program: str = "Hermes Desktop",
) -> DesktopServices:
    """Build the parts of the desktop program. Blocking: opens the database.

    Args:
        paths: The home.
        redactor: The log redactor that the keys are registered with as they are read.
        offline: Answer with the scripted provider of the demo instead of a model.
        clock: The clock; None for that of the machine.
        environ: The process environment; given by the demo, which hides the real one.
        registry: The platforms that can be served; None for those that the program ships.
        hosts: Whether the gateway of the home may be hosted at all.
        autostart: Whether the gateway starts with the program, unless the settings disable that.
        program: The name under which this program is shown to our other programs.

    Raises:
        StateUnavailableError: The database cannot be opened or created.
    """
    from hermes_desktop.services.assembly.desktop_services import join_parts
    from hermes_desktop.services.hosting.gateway_host import HostSetup
    from hermes_desktop.services.secrets.secret_access import with_secrets
    from hermes_desktop.services.settings.desktop_config import read_desktop_config

    clock = clock or SystemClock()
    surroundings = with_secrets(paths, os.environ if environ is None else environ, clock)
    autostart = autostart and read_desktop_config(paths).start_gateway
    return join_parts(
        HostSetup(paths, surroundings, autostart=autostart, program=program),
        redactor=redactor,
        offline=offline,
        clock=clock,
        registry=registry,
        hosts=hosts,
    )


def build_gateway(
    paths: HermesPaths,
    *,
    redactor: SecretRedactor,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    registry: AdapterRegistry | None = None,
) -> GatewayServices:
    """Build a gateway without a window. Blocking: opens the database. Loads no Qt.

    The gateway never starts automatically: not with ``open()``, and not when another gateway goes
    away.

    Args:
        paths: The home.
        redactor: The log redactor that the keys are registered with as they are read.
        clock: The clock; None for that of the machine.
        environ: The process environment; given by tests that hide the real one.
        registry: The platforms that can be served; None for those that the program ships.

    Raises:
        StateUnavailableError: The database cannot be opened or created.
    """
    from hermes_desktop.services.assembly.hosting_services import join_gateway
    from hermes_desktop.services.hosting.gateway_host import HostSetup
    from hermes_desktop.services.secrets.secret_access import with_secrets

    clock = clock or SystemClock()
    surroundings = with_secrets(paths, os.environ if environ is None else environ, clock)
    return join_gateway(
        HostSetup(paths, surroundings, autostart=False, program="hermes-desktop gateway run"),
        redactor=redactor,
        clock=clock,
        registry=registry,
    )
