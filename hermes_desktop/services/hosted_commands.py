"""What makes a runner take commands and know its people."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_desktop import __version__
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.commands.context import ProgramFacts
from hermes_desktop.core.clean_environment import names_secret
from hermes_desktop.core.errors import ConfigError, RefusedError
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.gateway.access import Access
from hermes_desktop.gateway.command_dispatch import CommandDispatch
from hermes_desktop.gateway.config import platform_or_none
from hermes_desktop.gateway.pairing import PairingStore
from hermes_desktop.gateway.platform_supervisor import PlatformSupervisor
from hermes_desktop.gateway.quick_commands import QuickRunner
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.services.gateway_settings import live_lookup
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.env_file import read_env_file

if TYPE_CHECKING:
    from hermes_desktop.services.hosted_gateway import HostedParts

log = logging.getLogger(__name__)

_SHORTEST_SECRET = 6


class SupervisedPlatforms:
    """The platforms of a hosted gateway by their names, as commands say them."""

    def __init__(self, supervisor: PlatformSupervisor) -> None:
        self._supervisor = supervisor

    def platforms(self) -> tuple[PlatformHealth, ...]:
        """How they do, by name."""
        return self._supervisor.health()

    async def pause(self, platform: str) -> None:
        """Leave a platform.

        Raises:
            RefusedError: It is not served here.
        """
        found = platform_or_none(platform)
        if found is None or not self._supervisor.serves(found):
            raise _not_served(platform)
        await self._supervisor.pause(found)

    async def resume(self, platform: str) -> None:
        """Serve a paused platform again. Errors as in :meth:`pause`."""
        found = platform_or_none(platform)
        if found is None or not self._supervisor.serves(found):
            raise _not_served(platform)
        await self._supervisor.resume(found)


def _not_served(platform: str) -> RefusedError:
    return RefusedError(
        f"{platform} is not served here.", "It is not set up.", "Look at the list of platforms."
    )


def take_commands(
    runner: GatewayRunner, parts: "HostedParts", platforms: PlatformSupervisor | None = None
) -> None:
    """Let a runner take commands.

    Args:
        runner: Made and not started yet.
        parts: What runners share.
        platforms: Those of a hosted gateway; None for the desktop's own chat.
    """

    def choose_model(override: Mapping[str, str]) -> ModelChoice:
        return parts.builder.choose_model(override)

    facts = ProgramFacts(
        version=__version__,
        profile=parts.paths.profile,
        home=parts.paths.home,
        choose_model=choose_model,
        approvals=parts.builder.approvals,
        care=parts.builder.context_care,
    )
    control = SupervisedPlatforms(platforms) if platforms is not None else None
    runner.command_dispatch = CommandDispatch(
        runner,
        facts,
        workers=parts.commands,
        platforms=control,
        quick=QuickRunner(
            parts.environ, parts.paths.home, parts.redactor.clean, lambda: _secrets(parts)
        ),
    )


def _secrets(parts: "HostedParts") -> list[str]:
    """What the environment and ``.env`` hold under the names of secrets. Blocking."""
    try:
        values = {**read_env_file(parts.paths.env_file), **parts.environ}
    except ConfigError:
        values = dict(parts.environ)
    return [
        value
        for name, value in values.items()
        if len(value) >= _SHORTEST_SECRET and names_secret(name)
    ]


def own_commands(parts: "HostedParts") -> Mapping[str, Any]:
    """The ``quick_commands`` of the home as they stand now. Blocking; empty if unreadable."""
    try:
        section = read_config(parts.paths.config_yaml).data.get("quick_commands")
    except ConfigError as error:
        log.warning("The person's own commands are left out: %s", error)
        return {}
    return section if isinstance(section, Mapping) else {}


def know_people(runner: GatewayRunner, parts: "HostedParts") -> None:
    """Let a runner look at who may write: settings, ``.env`` and pairing as they stand now."""
    runner.access = Access(
        runner.config,
        live_lookup(parts.paths, parts.environ),
        PairingStore(parts.paths.home, parts.clock),
        worker=parts.commands,
        bus=parts.bus,
    )
