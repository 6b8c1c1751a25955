"""Who may write to the agent. Who is not named may not."""

from hermes_desktop.gateway.config import GatewayConfig, Platform
from hermes_desktop.gateway.session import SessionSource


def is_authorized(source: SessionSource | None, config: GatewayConfig) -> bool:
    """Decide whether the sender of a message is let in.

    The desktop chat is written by the person who runs this program on this machine. Everybody
    else must stand in ``allow_from`` of the platform, or be covered by ``*`` there.
    """
    if source is None:
        return False
    if source.platform is Platform.DESKTOP:
        return True
    if not source.user_id:
        return False
    settings = config.platforms.get(source.platform)
    return settings is not None and bool({"*", source.user_id} & settings.allow_from)
