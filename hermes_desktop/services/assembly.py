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
    from hermes_desktop.services.desktop_services import DesktopServices
    from hermes_desktop.services.hosting_services import GatewayServices
    from hermes_desktop.services.session_catalog import SessionCatalog


def open_catalog(paths: HermesPaths) -> SessionCatalog:
    """Open the history of a home for reading, without creating anything.

    Raises:
        StateUnavailableError: There is no database, or it cannot be read.
    """
    from hermes_desktop.services.session_catalog import SessionCatalog
    from hermes_desktop.state import SessionDB

    return SessionCatalog(SessionDB(paths.state_db, read_only=True))


def build_services(
    paths: HermesPaths,
    *,
    redactor: SecretRedactor,
    offline: bool = False,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
) -> DesktopServices:
    """Build the parts of the desktop program. Blocking: opens the database.

    Args:
        paths: The home.
        redactor: Learns the keys that are read, so that no log shows them.
        offline: Answer with the scripted provider of the demo instead of a model.
        clock: The machine's, unless a test brings its own.
        environ: The process environment, unless the demo hides it.

    Raises:
        StateUnavailableError: The database cannot be opened or made.
    """
    from hermes_desktop.services.desktop_services import join_parts

    return join_parts(
        paths,
        redactor=redactor,
        offline=offline,
        clock=clock or SystemClock(),
        environ=os.environ if environ is None else environ,
    )


def build_gateway(
    paths: HermesPaths,
    *,
    redactor: SecretRedactor,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    registry: object | None = None,
) -> GatewayServices:
    """Build a gateway without a window. Blocking: opens the database. Loads no Qt.

    Args:
        paths: The home.
        redactor: Learns the keys that are read, so that no log shows them.
        clock: The machine's, unless a test brings its own.
        environ: The process environment, unless a test hides it.
        registry: The ``AdapterRegistry`` of platforms that can be served; None for those that
            the program ships.

    Raises:
        StateUnavailableError: The database cannot be opened or made.
    """
    from hermes_desktop.services.hosting_services import join_gateway

    return join_gateway(
        paths,
        redactor=redactor,
        clock=clock or SystemClock(),
        environ=os.environ if environ is None else environ,
        registry=registry,
    )
