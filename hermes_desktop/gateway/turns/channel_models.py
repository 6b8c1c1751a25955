"""Model overrides of channels, from the settings of their platform. Pure functions."""

from collections.abc import Mapping

from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.sessions.session_records import SessionSource


def channel_model(
    platforms: Mapping[Platform, PlatformConfig], source: SessionSource | None
) -> dict[str, str]:
    """Return ``model`` and ``provider`` as set by ``channel_overrides``; empty: the defaults.

    A thread takes precedence over its channel, and a channel over its parent.
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
