"""The model that a channel has of its own, by the settings of its platform. Pure."""

from collections.abc import Mapping

from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.sessions.session_records import SessionSource


def channel_model(
    platforms: Mapping[Platform, PlatformConfig], source: SessionSource | None
) -> dict[str, str]:
    """``model`` and ``provider`` as far as ``channel_overrides`` sets them; empty: the usual ones.

    A thread stands over its channel, and that over the one it lies in.
    """
    settings = platforms.get(source.platform) if source is not None else None
    if settings is None or source is None:
        return {}
    for name in (source.thread_id, source.chat_id, source.parent_chat_id):
        own = settings.channel_overrides.get(str(name)) if name else None
        if own is not None:
            chosen = {"model": own.model, "provider": own.provider}
            return {key: value for key, value in chosen.items() if value}
    return {}
