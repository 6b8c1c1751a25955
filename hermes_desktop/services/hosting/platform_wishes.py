"""What a person wishes of the platforms of a hosted gateway."""

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


class PlatformWishes(ABC):
    """The face of the host that is about single platforms and chats. Everything on the loop."""

    _private: GatewayRunner | None

    @property
    @abstractmethod
    def _hosted(self) -> HostedGateway | None:
        """The gateway that is hosted now."""

    async def replace_config(self, config: GatewayConfig) -> ConfigReplaced:
        """Let the gateway, if one is hosted, go on with other settings.

        Limits, policies and lists of people count from the next message on. Platforms whose own
        settings or secret changed are connected anew, switched on or left; all others are not
        touched. Replies that are on their way are kept and brought afterwards.

        Args:
            config: Settings that were read just now.
        """
        private, hosted = self._private, self._hosted
        if private is not None:
            own = replace(private.config, quick_commands=config.quick_commands)
            private.use_config(own)
        return ConfigReplaced() if hosted is None else await hosted.replace_config(config)

    async def reconnect(self, platform: str) -> None:
        """Connect a platform anew, now. One that is paused is not paused any more.

        Args:
            platform: :attr:`PlatformHealth.name`.

        Raises:
            RefusedError: It is not among the platforms that are hosted here.
        """
        await self._platforms(platform).reconnect(Platform(platform))

    async def pause(self, platform: str) -> None:
        """Leave a platform until :meth:`resume`. Args and errors as in :meth:`reconnect`."""
        await self._platforms(platform).pause(Platform(platform))

    async def resume(self, platform: str) -> None:
        """Serve a paused platform again. Args and errors as in :meth:`reconnect`."""
        await self._platforms(platform).resume(Platform(platform))

    async def continue_in(self, session_key: str, session_id: str) -> None:
        """Let a chat of a messaging platform go on in an earlier conversation, and tell it so.

        Raises:
            HermesError: It goes on where it is; why.
        """
        if self._hosted is None:
            raise not_served_here("The chat")
        await self._hosted.runner.continue_in(session_key, session_id)

    def in_use(self, platform: Platform, token: TokenIdentity | None) -> PlatformHealth | None:
        """How a platform does that is connected here with this very token; None: it is not."""
        hosted = self._hosted
        return None if hosted is None else hosted.platforms.health_with(platform, token)

    def _platforms(self, platform: str) -> PlatformSupervisor:
        hosted = self._hosted
        if hosted is None or hosted.serves(platform) is None:
            raise not_served_here(platform)
        return hosted.platforms
