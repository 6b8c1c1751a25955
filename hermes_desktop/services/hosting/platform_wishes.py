"""Operations on single platforms and chats of a hosted gateway."""

from abc import ABC, abstractmethod
from dataclasses import replace

from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.gateway.config.config_changes import ConfigReplaced
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.platforms.base import TokenIdentity
from hermes_desktop.gateway.platforms.platform_supervisor import PlatformSupervisor
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.services.hosting.hosted_gateway import HostedGateway
from hermes_desktop.services.hosting.hosting_words import not_served_here


class PlatformControls(ABC):
    """The part of the host that controls single platforms and chats. Called on the event loop."""

    _private: GatewayRunner | None

    @property
    @abstractmethod
    def _hosted(self) -> HostedGateway | None:
        """The gateway that is hosted now."""

    async def replace_config(self, config: GatewayConfig) -> ConfigReplaced:
        """Apply other settings to the gateway, if one is hosted.

        Limits, policies and allowlists apply from the next message on. Platforms whose own settings
        or secret changed are reconnected, switched on or disconnected; all others are not touched.
        Replies that are being delivered are kept and delivered afterwards.

        Args:
            config: Freshly read settings.
        """
        private, hosted = self._private, self._hosted
        if private is not None:
            own = replace(private.config, quick_commands=config.quick_commands)
            private.state.use_config(own)
        return ConfigReplaced() if hosted is None else await hosted.replace_config(config)

    async def reconnect(self, platform: str) -> None:
        """Reconnect a platform now; this also resumes a paused platform.

        Args:
            platform: :attr:`PlatformHealth.name`.

        Raises:
            RefusedError: It is not among the platforms that are hosted here.
        """
        await self._platforms(platform).reconnect(Platform(platform))

    async def pause(self, platform: str) -> None:
        """Disconnect a platform until :meth:`resume`. Args and errors as in :meth:`reconnect`."""
        await self._platforms(platform).pause(Platform(platform))

    async def resume(self, platform: str) -> None:
        """Resume a paused platform. Args and errors as in :meth:`reconnect`."""
        await self._platforms(platform).resume(Platform(platform))

    async def continue_in(self, session_key: str, session_id: str) -> None:
        """Continue an earlier conversation in a chat of a messaging platform, and notify the chat.

        Raises:
            HermesError: The chat keeps its current conversation; the error says why.
        """
        if self._hosted is None:
            raise not_served_here("The chat")
        await self._hosted.runner.parts.boundaries.continue_in(session_key, session_id)

    def in_use(self, platform: Platform, token: TokenIdentity | None) -> PlatformHealth | None:
        """Return the health of a platform that is connected here with this token, else None."""
        hosted = self._hosted
        return None if hosted is None else hosted.platforms.health_with(platform, token)

    def _platforms(self, platform: str) -> PlatformSupervisor:
        hosted = self._hosted
        if hosted is None or hosted.serves(platform) is None:
            raise not_served_here(platform)
        return hosted.platforms
