"""Facts about each platform for the user: its credentials, and where to get them.

Pure data; current values are stored in the files, and options are declared elsewhere.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from hermes_desktop.gateway.config.config_environment import HOME_VARIABLES
from hermes_desktop.gateway.config.config_options import GATEWAY_OPTIONS, GATEWAY_SECRETS
from hermes_desktop.gateway.config.config_platforms import Platform

_NO_SHAPE = re.compile("")


@dataclass(frozen=True, slots=True)
class SecretFacts:
    """One of the credentials of a platform.

    Attributes:
        variable: Its name in the environment, the keyring and ``.env``.
        label: The label of the input field.
        where: Where the user can get one, as a sentence; "" where that is not known.
        required: Whether the platform does nothing without it.
        instead_of: Another variable that it can replace.
        kind: A password may contain blanks; a token contains none.
        shape: The pattern of the whole value; one that matches everything carries no information.
        looks: The same for display: ``123456789:AAE…``.
    """

    variable: str
    label: str
    where: str = ""
    required: bool = True
    instead_of: str = ""
    kind: Literal["token", "password"] = "token"
    shape: re.Pattern[str] = _NO_SHAPE
    looks: str = ""

    @property
    def has_shape(self) -> bool:
        """Whether its pattern is known."""
        return self.shape is not _NO_SHAPE


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """One platform.

    Attributes:
        name: Its value in the settings.
        title: Its common name.
        secrets: Its credentials.
        ids: What the senders on the allowlist are identified by, as a phrase after "by".
        id_sample: An example of such an id.
        find_id: How users find their id; "" where that is not known.
        home: The platform's term for a chat that can be the home channel; "" where there is none.
        home_variable: The variable that names the home channel.
        people: Whether people write to it at all.
    """

    name: str
    title: str
    secrets: tuple[SecretFacts, ...] = ()
    ids: str = "their user ID"
    id_sample: str = ""
    find_id: str = ""
    home: str = ""
    home_variable: str = ""
    people: bool = True

    @property
    def switch_key(self) -> str:
        """The setting that switches it on."""
        return f"platforms.{self.name}.enabled"

    @property
    def people_key(self) -> str:
        """The setting that lists the allowed senders."""
        return f"{self.name}.allow_from"

    @property
    def strangers_key(self) -> str:
        """The setting that defines what unknown senders get."""
        return f"{self.name}.unauthorized_dm_behavior"

    @property
    def group_keys(self) -> tuple[str, ...]:
        """The settings that define which groups are answered, and when."""
        return tuple(
            option.key
            for option in GATEWAY_OPTIONS
            if option.platform == self.name and option.section == "Groups"
        )

    @property
    def toolsets_key(self) -> str:
        """The setting that defines which tools the assistant has there."""
        return f"platform_toolsets.{self.name}"


TELEGRAM_TOKEN = re.compile(r"\d{6,12}:[A-Za-z0-9_-]{35}")
DISCORD_TOKEN = re.compile(r"[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,42}")
SLACK_BOT = re.compile(r"xoxb-[A-Za-z0-9-]{10,}")
SLACK_APP = re.compile(r"xapp-[A-Za-z0-9-]{10,}")
MATRIX_TOKEN = re.compile(r"(?:syt|mat)_[A-Za-z0-9_=+/.-]{10,}")

_TELEGRAM = PlatformFacts(
    "telegram",
    "Telegram",
    (
        SecretFacts(
            "TELEGRAM_BOT_TOKEN",
            "Bot token",
            "Get it from BotFather in Telegram: /newbot creates a bot, /token shows the token "
            "of an existing one.",
            shape=TELEGRAM_TOKEN,
            looks="123456789:AAE… (35 characters after the colon)",
        ),
    ),
    ids="their numeric user ID",
    id_sample="123456789",
    find_id="Telegram does not show it; when you write to the bot, your ID appears in the "
    "request below.",
    home="chat",
)
_DISCORD = PlatformFacts(
    "discord",
    "Discord",
    (
        SecretFacts(
            "DISCORD_BOT_TOKEN",
            "Bot token",
            "Get it from the Discord Developer Portal: your application, “Bot”, “Reset "
            "Token”. Turn on “Message Content Intent” there.",
            shape=DISCORD_TOKEN,
            looks="three parts separated by dots, about 72 characters",
        ),
    ),
    ids="their numeric user ID",
    id_sample="123456789012345678",
    find_id="With Developer Mode on in Discord, right-click a person and choose “Copy User ID”.",
    home="channel",
)
_SLACK = PlatformFacts(
    "slack",
    "Slack",
    (
        SecretFacts(
            "SLACK_BOT_TOKEN",
            "Bot token",
            "Find it on the page of your Slack app, under “OAuth & Permissions”.",
            shape=SLACK_BOT,
            looks="xoxb-…",
        ),
        SecretFacts(
            "SLACK_APP_TOKEN",
            "App token",
            "Create it on the page of your Slack app, under “Basic Information”, “App-Level "
            "Tokens”, with connections:write.",
            shape=SLACK_APP,
            looks="xapp-…",
        ),
    ),
    ids="their member ID",
    id_sample="U01ABCDEF",
    find_id="Find it in their profile, under “Copy member ID”.",
    home="channel",
)
_MATRIX = PlatformFacts(
    "matrix",
    "Matrix",
    (
        SecretFacts(
            "MATRIX_ACCESS_TOKEN",
            "Access token",
            "Find it in Element, in the account of your bot, under “Help & About”, “Access Token”.",
            shape=MATRIX_TOKEN,
            looks="syt_…",
        ),
        SecretFacts(
            "MATRIX_PASSWORD",
            "Password",
            "The password of your bot’s account, if it has no access token.",
            required=False,
            instead_of="MATRIX_ACCESS_TOKEN",
            kind="password",
        ),
    ),
    ids="their Matrix ID",
    id_sample="@you:example.org",
    home="room",
)
_EMAIL = PlatformFacts(
    "email",
    "E-mail",
    (
        SecretFacts(
            "EMAIL_PASSWORD",
            "Password",
            "Many providers require an app password, which you create in the security "
            "settings of the account.",
            kind="password",
        ),
    ),
    ids="their address",
    id_sample="you@example.org",
    home="address",
)

_NAMED = (_TELEGRAM, _DISCORD, _SLACK, _MATRIX, _EMAIL)
_TITLES: Mapping[str, str] = {
    "whatsapp": "WhatsApp",
    "whatsapp_cloud": "WhatsApp Cloud",
    "signal": "Signal",
    "mattermost": "Mattermost",
    "homeassistant": "Home Assistant",
    "sms": "SMS",
    "dingtalk": "DingTalk",
    "api_server": "API server",
    "webhook": "Webhook",
    "msgraph_webhook": "Microsoft Graph",
    "feishu": "Feishu",
    "wecom": "WeCom",
    "wecom_callback": "WeCom callback",
    "weixin": "Weixin",
    "bluebubbles": "BlueBubbles",
    "qqbot": "QQ",
    "yuanbao": "Yuanbao",
}
_NO_PEOPLE = frozenset({"api_server", "webhook", "msgraph_webhook", "homeassistant"})


def _generic(name: str, title: str) -> PlatformFacts:
    secrets = (
        SecretFacts(each.variable, _capital(each.label.partition(": ")[2]))
        for each in GATEWAY_SECRETS
        if each.platform == name
    )
    return PlatformFacts(name, title, tuple(secrets), people=name not in _NO_PEOPLE)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _with_home(facts: PlatformFacts) -> PlatformFacts:
    variable = HOME_VARIABLES.get(Platform(facts.name), "")
    return replace(facts, home=facts.home if variable else "", home_variable=variable)


PLATFORMS: Mapping[str, PlatformFacts] = {
    facts.name: facts
    for facts in (
        *map(_with_home, _NAMED),
        *(_generic(name, title) for name, title in _TITLES.items()),
    )
}
"""By name, the most requested platforms first."""


@dataclass(frozen=True, slots=True)
class KnownShape:
    """A kind of secret that is recognized by its format.

    Attributes:
        what: A phrase for a sentence: "a Slack bot token".
        variable: The variable it is stored under; "" where it belongs to no platform.
    """

    what: str
    pattern: re.Pattern[str] = field(repr=False)
    variable: str = ""


KNOWN_SHAPES: tuple[KnownShape, ...] = (
    KnownShape("a Telegram bot token", TELEGRAM_TOKEN, "TELEGRAM_BOT_TOKEN"),
    KnownShape("a Slack bot token", SLACK_BOT, "SLACK_BOT_TOKEN"),
    KnownShape("a Slack app token", SLACK_APP, "SLACK_APP_TOKEN"),
    KnownShape("a Slack user token", re.compile(r"xoxp-[A-Za-z0-9-]{10,}")),
    KnownShape("a Matrix access token", MATRIX_TOKEN, "MATRIX_ACCESS_TOKEN"),
    KnownShape("a Discord bot token", DISCORD_TOKEN, "DISCORD_BOT_TOKEN"),
    KnownShape("a key for OpenRouter", re.compile(r"sk-or-[A-Za-z0-9_-]{16,}")),
    KnownShape("a key for Anthropic", re.compile(r"sk-ant-[A-Za-z0-9_-]{16,}")),
    KnownShape("a key for a model", re.compile(r"sk-[A-Za-z0-9_-]{16,}")),
    KnownShape("a GitHub token", re.compile(r"(?:gh[opsu]_|github_pat_)[A-Za-z0-9_]{16,}")),
    KnownShape("a Google key", re.compile(r"AIza[A-Za-z0-9_-]{30,}")),
    KnownShape("a web address", re.compile(r"https?://\S+", re.IGNORECASE)),
)
