"""Configuration of the gateway: platforms, allowed users and session resets."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.gateway.config.coercion import (
    as_bool,
    as_days,
    as_mapping,
    as_path,
    as_texts,
    as_whole_number,
)
from hermes_desktop.gateway.config.config_platforms import (
    ChannelOverride,
    HomeChannel,
    Platform,
    PlatformConfig,
    by_platform,
    platform_or_none,
)
from hermes_desktop.gateway.config.config_policies import SessionResetPolicy, StreamingConfig
from hermes_desktop.gateway.config.config_running import RunningSettings
from hermes_desktop.settings.options import Effect, setting, top_or_inside

__all__ = [
    "DEFAULT_MAX_AGE_DAYS",
    "ChannelOverride",
    "GatewayConfig",
    "HomeChannel",
    "Platform",
    "PlatformConfig",
    "RunningSettings",
    "SessionResetPolicy",
    "StreamingConfig",
    "platform_or_none",
]

log = logging.getLogger(__name__)

DEFAULT_MAX_AGE_DAYS = 90
_TRIGGERS = ("/new", "/reset")

UnauthorizedDm = Literal["pair", "ignore"]

STRANGERS: Mapping[str, str] = {"pair": "a code that you can approve", "ignore": "nothing"}
_GROUPS = "Groups"
_OTHER_SESSIONS = "These chats continue in different sessions; the previous ones are kept."

_SWITCHES = (
    "write_sessions_json",
    "always_log_local",
    "filter_silence_narration",
    "stt_enabled",
    "stt_echo_transcripts",
    "group_sessions_per_user",
    "thread_sessions_per_user",
    "multiplex_profiles",
)
# What makes a platform usable besides a token or an API key: all names of one of the groups.
_CREDENTIALS: Mapping[Platform, tuple[tuple[str, ...], ...]] = {
    Platform.API_SERVER: ((),),
    Platform.WEBHOOK: ((),),
    Platform.SIGNAL: (("http_url",),),
    Platform.EMAIL: (("address", "password", "imap_host", "smtp_host"),),
    Platform.MATRIX: (("homeserver", "password"),),
}


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """All settings of the gateway.

    Attributes:
        reset_triggers: Messages that mean ``/new``.
        sessions_dir: Folder of ``sessions.json``; None: that of the home.
        write_sessions_json: Whether the mirror of the routing table is kept.
        max_concurrent_sessions: Maximum number of concurrent turns; None: no limit.
        unauthorized_dm_behavior: The response to a stranger's direct message: a pairing code or
            nothing.
        session_store_max_age_days: Days of inactivity after which a chat's routing entry is
            dropped; 0 keeps entries forever. The sessions themselves are never touched.
        running: Settings from other sections; not part of :meth:`to_dict`.
    """

    platforms: Mapping[Platform, PlatformConfig] = field(default_factory=dict)
    default_reset_policy: SessionResetPolicy = field(default_factory=SessionResetPolicy)
    reset_by_type: Mapping[str, SessionResetPolicy] = field(default_factory=dict)
    reset_by_platform: Mapping[Platform, SessionResetPolicy] = field(default_factory=dict)
    reset_triggers: tuple[str, ...] = setting(
        "reset_triggers",
        _TRIGGERS,
        title="Reset commands",
        help="Messages that start a new session, like /new.",
        section="New sessions of chats",
        places=top_or_inside("reset_triggers"),
    )
    quick_commands: Mapping[str, Any] = field(default_factory=dict)
    sessions_dir: Path | None = None
    write_sessions_json: bool = True
    always_log_local: bool = True
    filter_silence_narration: bool = True
    stt_enabled: bool = True
    stt_echo_transcripts: bool = True
    group_sessions_per_user: bool = setting(
        "group_sessions_per_user",
        default=True,
        title="Groups: one session per person",
        help="Otherwise, everyone in a group shares one session.",
        section=_GROUPS,
        effect=Effect.RESTART,
        places=top_or_inside("group_sessions_per_user"),
        consequence=_OTHER_SESSIONS,
    )
    thread_sessions_per_user: bool = setting(
        "thread_sessions_per_user",
        default=False,
        title="Threads: one session per person",
        help="Otherwise, everyone in a thread shares one session.",
        section=_GROUPS,
        effect=Effect.RESTART,
        places=top_or_inside("thread_sessions_per_user"),
        consequence=_OTHER_SESSIONS,
    )
    max_concurrent_sessions: int | None = setting(
        "max_concurrent_sessions",
        None,
        title="Concurrent sessions",
        help="How many sessions can be open at the same time; empty: any number. All Hermes "
        "programs of this home count together.",
        section="Replies",
        kind="whole_number",
        minimum=1,
        maximum=10_000,
        places=top_or_inside("max_concurrent_sessions"),
    )
    multiplex_profiles: bool = False
    systemd_watchdog_seconds: int = 0
    unauthorized_dm_behavior: UnauthorizedDm = setting(
        "unauthorized_dm_behavior",
        "pair",
        title="Strangers",
        help="How to respond to a direct message from a stranger. E-mail from strangers is "
        "ignored unless this is set for email.",
        section="Who can write",
        choices=STRANGERS,
        places=top_or_inside("unauthorized_dm_behavior"),
    )
    streaming: StreamingConfig = field(default_factory=StreamingConfig)
    session_store_max_age_days: int = setting(
        "session_store_max_age_days",
        DEFAULT_MAX_AGE_DAYS,
        title="Forget inactive chats after (days)",
        help="Days without messages until the gateway forgets a chat; 0: never. It forgets which "
        "session the chat was in; the sessions themselves are kept.",
        section="New sessions of chats",
        minimum=0,
        maximum=36_500,
        places=top_or_inside("session_store_max_age_days"),
        consequence="A forgotten chat starts a new session with its next message.",
        unknown_to_hermes="`hermes` reads it from gateway.json only; its gateway uses 90 days.",
    )
    profile_routes: tuple[Mapping[str, Any], ...] = ()
    running: RunningSettings = field(default_factory=RunningSettings)

    def get_reset_policy(self, platform: Platform | None, session_type: str) -> SessionResetPolicy:
        """Return the policy of a chat: its platform's, else its type's, else the general one.

        The desktop chat has none: the user opens and leaves its sessions by hand.
        """
        if platform is Platform.DESKTOP:
            return SessionResetPolicy()
        if platform is not None and platform in self.reset_by_platform:
            return self.reset_by_platform[platform]
        return self.reset_by_type.get(session_type, self.default_reset_policy)

    def get_connected_platforms(self) -> list[Platform]:
        """Return the enabled platforms that have the credentials they need, sorted by name."""
        usable = [
            platform
            for platform, settings in self.platforms.items()
            if settings.enabled and _has_credentials(platform, settings)
        ]
        return sorted(usable, key=lambda platform: platform.value)

    def to_dict(self) -> dict[str, Any]:
        """Return the form that :meth:`from_dict` reads."""
        data: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                *_SWITCHES,
                "max_concurrent_sessions",
                "systemd_watchdog_seconds",
                "unauthorized_dm_behavior",
                "session_store_max_age_days",
            )
        }
        data |= {
            "platforms": {key.value: value.to_dict() for key, value in self.platforms.items()},
            "default_reset_policy": self.default_reset_policy.to_dict(),
            "reset_by_type": {key: value.to_dict() for key, value in self.reset_by_type.items()},
            "reset_by_platform": {
                key.value: value.to_dict() for key, value in self.reset_by_platform.items()
            },
            "reset_triggers": list(self.reset_triggers),
            "quick_commands": dict(self.quick_commands),
            "streaming": self.streaming.to_dict(),
            "profile_routes": [dict(route) for route in self.profile_routes],
        }
        return data | ({"sessions_dir": str(self.sessions_dir)} if self.sessions_dir else {})

    @classmethod
    def from_dict(cls, data: object) -> "GatewayConfig":
        """Read a configuration; invalid values become the default."""
        given, usual = as_mapping(data), cls()
        switches: dict[str, Any] = {
            name: as_bool(given.get(name), default=getattr(usual, name)) for name in _SWITCHES
        }
        routes, folder = given.get("profile_routes"), given.get("sessions_dir")
        days = given.get("session_store_max_age_days", DEFAULT_MAX_AGE_DAYS)
        return cls(
            **switches,
            platforms=by_platform(given.get("platforms"), PlatformConfig.from_dict),
            default_reset_policy=SessionResetPolicy.from_dict(given.get("default_reset_policy")),
            reset_by_type={
                str(key): SessionResetPolicy.from_dict(value)
                for key, value in as_mapping(given.get("reset_by_type")).items()
            },
            reset_by_platform=by_platform(
                given.get("reset_by_platform"), SessionResetPolicy.from_dict
            ),
            reset_triggers=as_texts(given.get("reset_triggers"), usual.reset_triggers),
            quick_commands=dict(as_mapping(given.get("quick_commands"))),
            sessions_dir=as_path(folder),
            max_concurrent_sessions=_limit(given.get("max_concurrent_sessions")),
            systemd_watchdog_seconds=as_whole_number(
                given.get("systemd_watchdog_seconds"), default=0, low=0
            ),
            unauthorized_dm_behavior=_dm_behavior(given.get("unauthorized_dm_behavior"))
            or usual.unauthorized_dm_behavior,
            streaming=StreamingConfig.from_dict(given.get("streaming")),
            session_store_max_age_days=as_days(days, DEFAULT_MAX_AGE_DAYS),
            profile_routes=tuple(
                dict(route)
                for route in (routes if isinstance(routes, list | tuple) else ())
                if isinstance(route, Mapping)
            ),
        )


def _has_credentials(platform: Platform, settings: PlatformConfig) -> bool:
    if settings.token or settings.api_key:
        return True
    groups = _CREDENTIALS.get(platform, ())
    return any(all(settings.extra.get(name) for name in group) for group in groups)


def _dm_behavior(value: object) -> UnauthorizedDm | None:
    name = str(value).strip().lower()
    if name == "pair":
        return "pair"
    return "ignore" if name == "ignore" else None


def _limit(value: object) -> int | None:
    """Return the limit of concurrent turns; anything not above 0 means no limit."""
    if value is None:
        return None
    limit = as_whole_number(value, default=0, low=0)
    if limit == 0 and str(value).strip() not in {"0", "0.0"}:
        log.warning("max_concurrent_sessions is not a number above 0; there is no limit")
    return limit or None
