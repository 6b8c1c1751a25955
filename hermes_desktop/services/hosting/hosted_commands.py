"""Wiring that lets a runner execute commands and authorize senders."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes_desktop import __version__
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.commands.context import ProgramFacts
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.gateway.access.authorization import Access
from hermes_desktop.gateway.access.pairing import PairingStore
from hermes_desktop.gateway.commands.command_dispatch import CommandDispatch
from hermes_desktop.gateway.config.gateway_config import platform_or_none
from hermes_desktop.gateway.platforms.platform_supervisor import PlatformSupervisor
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.services.agents.own_commands import quick_runner
from hermes_desktop.services.hosting.chat_undo import ChatUndo
from hermes_desktop.services.sessions.turn_undo import TurnUndoing
from hermes_desktop.services.settings.gateway_settings import live_lookup
from hermes_desktop.services.settings.setting_writer import setting_writer

if TYPE_CHECKING:
    from hermes_desktop.services.hosting.hosted_gateway import HostedParts


class SupervisedPlatforms:
    """The platforms of a hosted gateway, addressed by name as in commands."""

    def __init__(self, supervisor: PlatformSupervisor) -> None:
        self._supervisor = supervisor

    def platforms(self) -> tuple[PlatformHealth, ...]:
        """Return the health of each platform, sorted by name."""
        return self._supervisor.health()

    async def pause(self, platform: str) -> None:
        """Disconnect a platform until it is resumed.

        Raises:
            RefusedError: It is not served here.
        """
        found = platform_or_none(platform)
        if found is None or not self._supervisor.serves(found):
            raise _not_served(platform)
        await self._supervisor.pause(found)

    async def resume(self, platform: str) -> None:
        """Resume a paused platform. Errors as in :meth:`pause`."""
        found = platform_or_none(platform)
        if found is None or not self._supervisor.serves(found):
            raise _not_served(platform)
        await self._supervisor.resume(found)


def _not_served(platform: str) -> RefusedError:
    return RefusedError(
        f"{platform} is not served here.", "It is not set up.", "Check the list of platforms."
    )


def install_commands(
    runner: GatewayRunner, parts: "HostedParts", platforms: PlatformSupervisor | None = None
) -> None:
    """Install the command dispatch in a runner.

    Args:
        runner: A runner that is not started yet.
        parts: The dependencies shared by runners.
        platforms: The platforms of a hosted gateway; None for the desktop's own chat.
    """

    def choose_model(override: Mapping[str, str]) -> ModelChoice:
        return parts.builder.choose_model(override)

    facts = ProgramFacts(
        version=__version__,
        profile=parts.paths.profile,
        home=parts.paths.home,
        choose_model=choose_model,
        requests=parts.builder.requests,
        care=parts.builder.compaction_service,
        processes=parts.builder.processes,
        undo=_undo(parts),
        change_setting=setting_writer(parts.paths, parts.environ, parts.clock),
    )
    control = SupervisedPlatforms(platforms) if platforms is not None else None
    runner.state.command_dispatch = CommandDispatch(
        runner,
        facts,
        workers=parts.commands,
        platforms=control,
        quick=quick_runner(parts.paths, parts.environ, parts.redactor.clean),
    )


def _undo(parts: "HostedParts") -> ChatUndo | None:
    """Return what undoes turns for chats; None where agents have no tools."""
    store = parts.builder.undo
    if store is None:
        return None
    turns = parts.open_turns.turn_in
    undoing = TurnUndoing(parts.db, store, parts.conversations, turns)
    return ChatUndo(undoing, parts.redactor.clean)


def install_access(runner: GatewayRunner, parts: "HostedParts") -> None:
    """Let a runner authorize senders by the live settings, ``.env`` and pairing store."""
    runner.state.access = Access(
        runner.config,
        live_lookup(parts.paths, parts.environ),
        PairingStore(parts.paths.home, parts.clock),
        worker=parts.commands,
        bus=parts.bus,
    )
