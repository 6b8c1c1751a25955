"""Changes of the configuration that a running gateway applies, and those that need a restart."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig

FIXED = (
    "sessions_dir",
    "multiplex_profiles",
    "profile_routes",
    "group_sessions_per_user",
    "thread_sessions_per_user",
    "systemd_watchdog_seconds",
)
"""Fields on which the chats of a running gateway are built."""

LIVE_EXTRAS = frozenset(
    {
        "allow_from",
        "group_allow_from",
        "group_allowed_chats",
        "allow_admin_from",
        "group_allow_admin_from",
        "user_allowed_commands",
        "group_user_allowed_commands",
        "dm_policy",
        "unauthorized_dm_behavior",
        "notice_delivery",
        "typing_indicator",
        "gateway_restart_notification",
    }
)
"""Keys of a platform's ``extra`` that the gateway itself, and no adapter, reads per message.

An adapter that used one of these itself would keep the old value: it gets its settings once, when
it is created.
"""

_LIVE_FIELDS = {
    "home_channel": None,
    "gateway_restart_notification": True,
    "typing_indicator": True,
    "reply_to_mode": "first",
    "trouble": "",
}
_SECRET_EXTRAS = ("password", "key", "secret")


@dataclass(frozen=True, slots=True)
class PlatformOutcome:
    """The result of applying changed settings to a platform.

    Attributes:
        platform: Its name.
        ok: Whether it is in the wanted state.
        words: What is wrong, as a sentence.
        left: It was switched off and is no longer connected.
    """

    platform: str
    ok: bool
    words: str = ""
    left: bool = False


@dataclass(frozen=True, slots=True)
class ConfigReplaced:
    """The result of applying new settings to a running gateway.

    Attributes:
        platforms: Those that were reconnected, connected for the first time, or disconnected; all
            others were not touched.
        after_restart: Keys of config.yaml whose new values need a restart.
    """

    platforms: tuple[PlatformOutcome, ...] = ()
    after_restart: tuple[str, ...] = ()


def split_live_changes(
    old: GatewayConfig, new: GatewayConfig
) -> tuple[GatewayConfig, tuple[str, ...]]:
    """Return the settings that can be applied now, and the keys that need a restart.

    A secret in the keyring that is currently unavailable stays as it was: an open connection is not
    dropped because a keyring was locked.

    Args:
        old: The settings of the running gateway.
        new: The settings that were just read.
    """
    waiting = tuple(name for name in FIXED if getattr(old, name) != getattr(new, name))
    running = replace(new.running, delivery_ledger=old.running.delivery_ledger)
    if running != new.running:
        waiting = (*waiting, "gateway.delivery_ledger")
    platforms = {
        platform: _with_known_secrets(old.platforms.get(platform), settings)
        for platform, settings in new.platforms.items()
    }
    kept: dict[str, Any] = {name: getattr(old, name) for name in FIXED}
    return replace(new, platforms=platforms, running=running, **kept), waiting


def needs_connection(old: PlatformConfig, new: PlatformConfig) -> bool:
    """Return whether a change of a platform's settings requires a new adapter."""
    return _for_adapter(old) != _for_adapter(new)


def changed_platforms(old: GatewayConfig, new: GatewayConfig) -> Iterator[Platform]:
    """Yield the platforms whose adapters have to be created, replaced or disconnected."""
    for platform in dict.fromkeys((*old.platforms, *new.platforms)):
        before = old.platforms.get(platform, PlatformConfig())
        after = new.platforms.get(platform, PlatformConfig())
        if needs_connection(before, after):
            yield platform


def _for_adapter(settings: PlatformConfig) -> PlatformConfig:
    extra = {key: value for key, value in settings.extra.items() if key not in LIVE_EXTRAS}
    live: dict[str, Any] = _LIVE_FIELDS
    return replace(settings, extra=extra, **live)


def _with_known_secrets(old: PlatformConfig | None, new: PlatformConfig) -> PlatformConfig:
    if old is None or not new.trouble:
        return new
    known = {name: old.extra[name] for name in _SECRET_EXTRAS if name in old.extra}
    return replace(
        new,
        token=old.token or new.token,
        api_key=old.api_key or new.api_key,
        extra={**new.extra, **known},
    )
