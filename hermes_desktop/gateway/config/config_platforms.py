"""The supported platforms and the settings of a single platform."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast, get_args

from hermes_desktop.gateway.config.coercion import as_bool, as_mapping, as_optional_text

ReplyToMode = Literal["off", "first", "all"]

V = TypeVar("V")


class Platform(enum.Enum):
    """A source of messages. Lookup by value ignores case and blanks around the name."""

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


_TITLES: Mapping[Platform, str] = {
    Platform.WHATSAPP: "WhatsApp",
    Platform.EMAIL: "E-mail",
    Platform.API_SERVER: "API server",
}


def title_of(platform: Platform) -> str:
    """Return the display name of a platform, capitalized."""
    return _TITLES.get(platform) or platform.value.replace("_", " ").capitalize()


def platform_or_none(value: object) -> Platform | None:
    """Return the platform of that name; None when it is unknown."""
    try:
        return Platform(value)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class HomeChannel:
    """The chat of a platform that receives unsolicited messages."""

    platform: Platform
    chat_id: str
    name: str = "Home"
    thread_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the form stored in the configuration."""
        data = {"platform": self.platform.value, "chat_id": self.chat_id, "name": self.name}
        return data | {"thread_id": self.thread_id} if self.thread_id else data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "HomeChannel":
        """Read the form that :meth:`to_dict` returns.

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
class ChannelOverride:
    """Overrides for one channel of a platform."""

    model: str | None = None
    provider: str | None = None
    system_prompt: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the form stored in the configuration; only what is set."""
        names = ("model", "provider", "system_prompt")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ChannelOverride":
        """Read the form that :meth:`to_dict` returns."""
        return cls(
            as_optional_text(data.get("model")),
            as_optional_text(data.get("provider")),
            as_optional_text(data.get("system_prompt")),
        )


@dataclass(frozen=True, slots=True)
class PlatformConfig:
    """The settings of one platform.

    Attributes:
        token: Secret of the bot; never logged.
        api_key: Secret of platforms that have one; never logged.
        reply_to_mode: Which parts of a reply are shown as replies to the sender's message.
        gateway_restart_notification: Whether its chats are notified of a restart.
        typing_indicator: Whether it shows that a reply is being written.
        typing_status_text: The text for that, where the platform shows any.
        channel_overrides: By channel id.
        extra: Settings that only this platform has, and ``allow_from``: who may write. May contain
            secrets.
        trouble: Why a secret stored for it could not be read, as a sentence; not part of
            :meth:`to_dict`.
    """

    enabled: bool = False
    token: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    home_channel: HomeChannel | None = None
    reply_to_mode: ReplyToMode = "first"
    gateway_restart_notification: bool = True
    typing_indicator: bool = True
    typing_status_text: str | None = None
    channel_overrides: Mapping[str, ChannelOverride] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    trouble: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the form stored in the configuration; secrets and home channel only when set."""
        data: dict[str, Any] = {
            "enabled": self.enabled,
            "extra": dict(self.extra),
            "reply_to_mode": self.reply_to_mode,
            "gateway_restart_notification": self.gateway_restart_notification,
            "typing_indicator": self.typing_indicator,
        }
        if self.token:
            data["token"] = self.token
        if self.api_key:
            data["api_key"] = self.api_key
        if self.home_channel is not None:
            data["home_channel"] = self.home_channel.to_dict()
        if self.typing_status_text is not None:
            data["typing_status_text"] = self.typing_status_text
        if self.channel_overrides:
            overrides = self.channel_overrides.items()
            data["channel_overrides"] = {key: value.to_dict() for key, value in overrides}
        return data

    @classmethod
    def from_dict(cls, data: object) -> "PlatformConfig":
        """Read settings; anything that is not a mapping means the defaults."""
        given = as_mapping(data)
        extra = as_mapping(given.get("extra"))

        def setting(name: str) -> object:
            return given[name] if name in given else extra.get(name)

        return cls(
            enabled=as_bool(given.get("enabled"), default=False),
            token=as_optional_text(given.get("token")),
            api_key=as_optional_text(given.get("api_key")),
            home_channel=_home_channel(given.get("home_channel")),
            reply_to_mode=_reply_to_mode(given.get("reply_to_mode")),
            gateway_restart_notification=as_bool(
                setting("gateway_restart_notification"), default=True
            ),
            typing_indicator=as_bool(setting("typing_indicator"), default=True),
            typing_status_text=as_optional_text(setting("typing_status_text")),
            channel_overrides={
                str(key): ChannelOverride.from_dict(value)
                for key, value in as_mapping(given.get("channel_overrides")).items()
                if isinstance(value, Mapping)
            },
            extra=dict(extra),
        )


def _home_channel(data: object) -> HomeChannel | None:
    try:
        return HomeChannel.from_dict(data) if isinstance(data, Mapping) else None
    except (KeyError, ValueError):
        return None


def _reply_to_mode(value: object) -> ReplyToMode:
    """Return the reply mode; YAML reads ``off`` as a boolean."""
    name = "off" if value is False else str(value).strip().lower()
    return cast(ReplyToMode, name) if name in get_args(ReplyToMode) else "first"


def by_platform(data: object, read: Callable[[object], V]) -> dict[Platform, V]:
    """Read a mapping whose keys are names of platforms; unknown ones are left out."""
    found: dict[Platform, V] = {}
    for name, value in as_mapping(data).items():
        platform = platform_or_none(name)
        if platform is not None:
            found[platform] = read(value)
    return found
