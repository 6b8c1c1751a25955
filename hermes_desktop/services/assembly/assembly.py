"""Builds every part once and hands each what it needs.

One builder per need, imports inside, so that a session list on the command line loads neither
asyncio, httpx, keyring nor Qt.
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
        redactor: Learns the keys that are read, so that no log shows them.
        offline: Answer with the scripted provider of the demo instead of a model.
        clock: The machine's, unless a test brings its own.
        environ: The process environment, unless the demo hides it.
        registry: The platforms that can be served; None for those that the program ships.
        hosts: Whether the gateway of the home may be hosted at all.
        autostart: Whether it starts with the program, unless the settings say that it does not.
        program: What our other programs are told of this one.

    Raises:
        StateUnavailableError: The database cannot be opened or made.
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

    Nothing starts by itself: not with ``open()``, and not when another gateway goes away.

    Args:
        paths: The home.
        redactor: Learns the keys that are read, so that no log shows them.
        clock: The machine's, unless a test brings its own.
        environ: The process environment, unless a test hides it.
        registry: The platforms that can be served; None for those that the program ships.

    Raises:
        StateUnavailableError: The database cannot be opened or made.
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
