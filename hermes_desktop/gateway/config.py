"""How the gateway is set up: which platforms, who may write, when conversations start afresh."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast

from hermes_desktop.gateway.coercion import as_bool, as_days, as_mapping, as_optional_text

DEFAULT_MAX_AGE_DAYS = 90

ResetMode = Literal["none", "idle", "daily", "both"]

V = TypeVar("V")


class Platform(enum.Enum):
    """Where messages come from. Looking one up ignores case and blanks around the name."""

    LOCAL = "local"
    TELEGRAM = "telegram"
    DISCORD = "discord"
    WHATSAPP = "whatsapp"
    WHATSAPP_CLOUD = "whatsapp_cloud"
    SLACK = "slack"
    SIGNAL = "signal"
    MATTERMOST = "mattermost"
    MATRIX = "matrix"
    HOMEASSISTANT = "homeassistant"
    EMAIL = "email"
    SMS = "sms"
    DINGTALK = "dingtalk"
    API_SERVER = "api_server"
    WEBHOOK = "webhook"
    MSGRAPH_WEBHOOK = "msgraph_webhook"
    FEISHU = "feishu"
    WECOM = "wecom"
    WECOM_CALLBACK = "wecom_callback"
    WEIXIN = "weixin"
    BLUEBUBBLES = "bluebubbles"
    QQBOT = "qqbot"
    YUANBAO = "yuanbao"
    RELAY = "relay"
    DESKTOP = "desktop"

    @classmethod
    def _missing_(cls, value: object) -> "Platform | None":
        if not isinstance(value, str):
            return None
        name = value.strip().lower()
        return next((member for member in cls if member.value == name), None)


def platform_or_none(value: object) -> Platform | None:
    """The platform of that name; None for one that we do not know."""
    try:
        return Platform(value)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class HomeChannel:
    """The chat of a platform that unasked news go to."""

    platform: Platform
    chat_id: str
    name: str = "Home"
    thread_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As stored in the configuration."""
        data = {"platform": self.platform.value, "chat_id": self.chat_id, "name": self.name}
        return data | {"thread_id": self.thread_id} if self.thread_id else data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "HomeChannel":
        """Read what :meth:`to_dict` wrote.

        Raises:
            KeyError: Platform or chat id is missing.
            ValueError: The platform is unknown.
        """
        return cls(
            platform=Platform(data["platform"]),
            chat_id=str(data["chat_id"]),
            name=str(data.get("name") or "Home"),
            thread_id=as_optional_text(data.get("thread_id")),
        )


@dataclass(frozen=True, slots=True)
class SessionResetPolicy:
    """When a chat starts a new conversation by itself.

    Attributes:
        mode: Not at all, after idling, once a day, or whichever comes first.
        at_hour: Local hour of the daily start, 0 to 23.
        idle_minutes: How long a chat may be silent.
        notify: Whether the chat is told.
        notify_exclude_platforms: Platforms that are never told.
        bg_process_max_age_hours: From when on a background process no longer keeps a chat alive.
    """

    mode: ResetMode = "none"
    at_hour: int = 4
    idle_minutes: int = 1440
    notify: bool = True
    notify_exclude_platforms: tuple[str, ...] = ("api_server", "webhook")
    bg_process_max_age_hours: int = 24

    def to_dict(self) -> dict[str, Any]:
        """As stored in the configuration."""
        return {
            "mode": self.mode,
            "at_hour": self.at_hour,
            "idle_minutes": self.idle_minutes,
            "notify": self.notify,
            "notify_exclude_platforms": list(self.notify_exclude_platforms),
            "bg_process_max_age_hours": self.bg_process_max_age_hours,
        }

    @classmethod
    def from_dict(cls, data: object) -> "SessionResetPolicy":
        """Read a policy; what is missing, null or out of range becomes the default."""
        given = {key: value for key, value in as_mapping(data).items() if value is not None}
        excluded = given.get("notify_exclude_platforms")
        mode = given.get("mode")
        return cls(
            mode=cast(ResetMode, mode) if mode in {"none", "idle", "daily", "both"} else "none",
            at_hour=_whole_number(given.get("at_hour"), default=4, low=0, high=23),
            idle_minutes=_whole_number(given.get("idle_minutes"), default=1440, low=1),
            notify=as_bool(given.get("notify"), default=True),
            notify_exclude_platforms=tuple(str(name) for name in excluded)
            if isinstance(excluded, list | tuple)
            else ("api_server", "webhook"),
            bg_process_max_age_hours=_whole_number(
                given.get("bg_process_max_age_hours"), default=24, low=0
            ),
        )


def _whole_number(value: object, *, default: int, low: int, high: int | None = None) -> int:
    if isinstance(value, bool):
        return default
    try:
        number = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return default
    return number if number >= low and (high is None or number <= high) else default


@dataclass(frozen=True, slots=True)
class PlatformConfig:
    """One platform's own settings.

    Attributes:
        token: Secret of the bot; never logged.
        api_key: Secret of platforms that have one; never logged.
        extra: What only this platform knows, and ``allow_from``: who may write.
    """

    enabled: bool = False
    token: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    home_channel: HomeChannel | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def allow_from(self) -> frozenset[str]:
        """User ids that may write; ``*`` stands for everybody."""
        listed = self.extra.get("allow_from")
        names = listed.split(",") if isinstance(listed, str) else listed
        if not isinstance(names, list | tuple | set | frozenset):
            names = () if names is None else (names,)
        return frozenset(text for name in names if (text := str(name).strip()))

    def to_dict(self) -> dict[str, Any]:
        """As stored in the configuration; secrets and the home channel only when set."""
        data: dict[str, Any] = {"enabled": self.enabled, "extra": dict(self.extra)}
        if self.token:
            data["token"] = self.token
        if self.api_key:
            data["api_key"] = self.api_key
        if self.home_channel is not None:
            data["home_channel"] = self.home_channel.to_dict()
        return data

    @classmethod
    def from_dict(cls, data: object) -> "PlatformConfig":
        """Read settings; anything that is no mapping means the defaults."""
        given = as_mapping(data)
        return cls(
            enabled=as_bool(given.get("enabled"), default=False),
            token=as_optional_text(given.get("token")),
            api_key=as_optional_text(given.get("api_key")),
            home_channel=_home_channel(given.get("home_channel")),
            extra=dict(as_mapping(given.get("extra"))),
        )


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """All of the gateway's settings.

    Attributes:
        session_store_max_age_days: After how many silent days a chat's routing entry is dropped;
            0 keeps them for ever. The conversations themselves are never touched.
    """

    platforms: Mapping[Platform, PlatformConfig] = field(default_factory=dict)
    default_reset_policy: SessionResetPolicy = SessionResetPolicy()
    reset_by_type: Mapping[str, SessionResetPolicy] = field(default_factory=dict)
    reset_by_platform: Mapping[Platform, SessionResetPolicy] = field(default_factory=dict)
    group_sessions_per_user: bool = True
    thread_sessions_per_user: bool = False
    session_store_max_age_days: int = DEFAULT_MAX_AGE_DAYS
    write_sessions_json: bool = True

    def get_reset_policy(self, platform: Platform | None, session_type: str) -> SessionResetPolicy:
        """The policy of a chat: its platform's, else its type's, else the general one.

        The desktop chat has none: a person opens and leaves its conversations by hand.
        """
        if platform is Platform.DESKTOP:
            return SessionResetPolicy()
        if platform is not None and platform in self.reset_by_platform:
            return self.reset_by_platform[platform]
        return self.reset_by_type.get(session_type, self.default_reset_policy)

    def to_dict(self) -> dict[str, Any]:
        """As :meth:`from_dict` reads it."""
        return {
            "platforms": {key.value: value.to_dict() for key, value in self.platforms.items()},
            "default_reset_policy": self.default_reset_policy.to_dict(),
            "reset_by_type": {key: value.to_dict() for key, value in self.reset_by_type.items()},
            "reset_by_platform": {
                key.value: value.to_dict() for key, value in self.reset_by_platform.items()
            },
            "group_sessions_per_user": self.group_sessions_per_user,
            "thread_sessions_per_user": self.thread_sessions_per_user,
            "session_store_max_age_days": self.session_store_max_age_days,
        }

    @classmethod
    def from_dict(cls, data: object) -> "GatewayConfig":
        """Read a configuration; what cannot be understood becomes the default."""
        given = as_mapping(data)
        return cls(
            platforms=_by_platform(given.get("platforms"), PlatformConfig.from_dict),
            default_reset_policy=SessionResetPolicy.from_dict(given.get("default_reset_policy")),
            reset_by_type={
                str(key): SessionResetPolicy.from_dict(value)
                for key, value in as_mapping(given.get("reset_by_type")).items()
            },
            reset_by_platform=_by_platform(
                given.get("reset_by_platform"), SessionResetPolicy.from_dict
            ),
            group_sessions_per_user=as_bool(given.get("group_sessions_per_user"), default=True),
            thread_sessions_per_user=as_bool(given.get("thread_sessions_per_user"), default=False),
            session_store_max_age_days=as_days(
                given.get("session_store_max_age_days", DEFAULT_MAX_AGE_DAYS), DEFAULT_MAX_AGE_DAYS
            ),
        )


def load_gateway_config(data: Mapping[str, Any]) -> GatewayConfig:
    """Make the gateway's configuration from what config.yaml holds.

    Each key may stand at the top level or inside ``gateway:``; where the top level has it, even
    with a useless value, the inner one is not looked at.

    Args:
        data: The file as read, an empty mapping when there is none.
    """
    inner = as_mapping(data.get("gateway"))

    def setting(name: str) -> object:
        return data[name] if name in data else inner.get(name)

    picked: dict[str, object] = {
        name: setting(name)
        for name in (
            "reset_by_type",
            "reset_by_platform",
            "group_sessions_per_user",
            "thread_sessions_per_user",
            "session_store_max_age_days",
        )
        if name in data or name in inner
    }
    picked["default_reset_policy"] = setting("session_reset")
    picked["platforms"] = _platform_blocks(data, inner)
    return GatewayConfig.from_dict(picked)


def _platform_blocks(
    data: Mapping[str, Any], inner: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The settings of each platform, put together from the places where they may stand."""
    blocks: dict[str, dict[str, Any]] = {}
    for group in (inner.get("platforms"), data.get("platforms")):
        for name, block in as_mapping(group).items():
            known = blocks.setdefault(str(name), {})
            extra = {**as_mapping(known.get("extra")), **as_mapping(as_mapping(block).get("extra"))}
            known.update(as_mapping(block), extra=extra)
    for platform in Platform:
        own = as_mapping(data.get(platform.value, blocks.get(platform.value)))
        if "allow_from" in own:
            block = blocks.setdefault(platform.value, {})
            block["extra"] = {**as_mapping(block.get("extra")), "allow_from": own["allow_from"]}
    return blocks


def _home_channel(data: object) -> HomeChannel | None:
    try:
        return HomeChannel.from_dict(data) if isinstance(data, Mapping) else None
    except (KeyError, ValueError):
        return None


def _by_platform(data: object, read: Callable[[object], V]) -> dict[Platform, V]:
    found: dict[Platform, V] = {}
    for name, value in as_mapping(data).items():
        platform = platform_or_none(name)
        if platform is not None:
            found[platform] = read(value)
    return found
