"""All settings and secrets of the gateway for users.

Those of records are declared at their fields; here are those of each platform.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hermes_desktop.gateway.config.config_environment import TOKEN_VARIABLES
from hermes_desktop.gateway.config.config_platforms import Platform, title_of
from hermes_desktop.gateway.config.config_policies import (
    ALL_CHATS,
    SessionResetPolicy,
    StreamingConfig,
)
from hermes_desktop.gateway.config.config_running import RunningSettings
from hermes_desktop.gateway.config.gateway_config import STRANGERS, GatewayConfig
from hermes_desktop.gateway.config.user_lists import variable
from hermes_desktop.settings.options import (
    Effect,
    Kind,
    Option,
    Place,
    SecretOption,
    settings_of,
    top_or_inside,
)

SESSION_TYPES = ("dm", "group", "channel", "thread")
_KINDS = {"dm": "Direct messages", "group": "Groups", "channel": "Channels", "thread": "Threads"}
_PEOPLE = "Who can write"
_GROUPS = "Groups"
_TELEGRAM = Platform.TELEGRAM.value
_PLATFORMS = "Platforms"
_IGNORED = "`hermes` does not read it from config.yaml; in its gateway it has no effect."

_NAMED = (
    Platform.TELEGRAM,
    Platform.DISCORD,
    Platform.SLACK,
    Platform.WHATSAPP,
    Platform.SIGNAL,
    Platform.MATTERMOST,
    Platform.MATRIX,
    Platform.EMAIL,
    Platform.API_SERVER,
    Platform.WEBHOOK,
)
_WITH_PEOPLE = tuple(p for p in _NAMED if p not in {Platform.API_SERVER, Platform.WEBHOOK})


def _policy(group: str, of: str, who: str) -> Iterator[Option]:
    """Yield the settings of the policy of one kind of chat, which are like the general ones."""
    for general in settings_of(SessionResetPolicy).values():
        key = f"{group}.{of}.{general.key.rpartition('.')[2]}"
        yield replace(
            general,
            key=key,
            title=general.title.replace(ALL_CHATS, who),
            places=top_or_inside(key, owns=1),
            variables=(),
            unknown_to_hermes=_IGNORED,
        )


def _policies() -> Iterator[Option]:
    yield from settings_of(SessionResetPolicy).values()
    for kind in SESSION_TYPES:
        yield from _policy("reset_by_type", kind, _KINDS[kind])
    for platform in _WITH_PEOPLE:
        yield from _policy("reset_by_platform", platform.value, f"Chats on {title_of(platform)}")


def switch_places(platform: Platform) -> tuple[Place, ...]:
    """Return where config.yaml may switch a platform on or off; the first place found counts."""
    inner = ("platforms", platform.value, "enabled")
    top = Place((platform.value, "enabled"), only_found=True)
    return top, Place(inner), Place(("gateway", *inner))


_SWITCHES: Mapping[Platform, tuple[str, ...]] = {
    Platform.API_SERVER: ("API_SERVER_ENABLED",),
    Platform.WEBHOOK: ("WEBHOOK_ENABLED",),
}
_LOGINS: Mapping[Platform, tuple[tuple[str, ...], ...]] = {
    Platform.MATRIX: (
        ("MATRIX_ACCESS_TOKEN", "MATRIX_HOMESERVER"),
        ("MATRIX_PASSWORD", "MATRIX_HOMESERVER"),
    ),
    Platform.EMAIL: (("EMAIL_PASSWORD", "EMAIL_ADDRESS", "EMAIL_IMAP_HOST", "EMAIL_SMTP_HOST"),),
    Platform.API_SERVER: (("API_SERVER_KEY",),),
}


def _switch(platform: Platform) -> Option:
    """Return the switch of a platform, with the places where ``hermes`` reads it."""
    name = platform.value
    token = TOKEN_VARIABLES.get(platform)
    return Option(
        key=f"platforms.{name}.enabled",
        title=f"{title_of(platform)}: on",
        help=f"The gateway serves {title_of(platform)}.",
        section=_PLATFORMS,
        kind="yes_no",
        default=False,
        effect=Effect.RECONNECT,
        platform=name,
        places=switch_places(platform),
        variables=_SWITCHES.get(platform, ()),
        switched_on_by=_LOGINS.get(platform, ((token,),) if token else ()),
        consequence="A token in the environment, the keyring or .env turns it on, unless "
        "this is set to false.",
    )


def _people(platform: Platform) -> Iterator[Option]:
    """Yield the options for allowed users of a platform and for how strangers are treated."""
    name = platform.value
    inner = ("platforms", name)
    yield Option(
        key=f"{name}.allow_from",
        title=f"{title_of(platform)}: people",
        help="IDs of people who can write; * means everyone. People named in "
        f"{variable(name, 'ALLOWED_USERS')} or approved by pairing can write, too.",
        section=_PEOPLE,
        kind="texts",
        default=[],
        platform=name,
        places=(
            Place((name, "allow_from"), owns=1),
            Place((*inner, "allow_from")),
            Place(("gateway", *inner, "allow_from")),
            Place((*inner, "extra", "allow_from")),
            Place(("gateway", *inner, "extra", "allow_from")),
        ),
        consequence="People removed from the list are refused from the next message on.",
    )
    yield Option(
        key=f"{name}.unauthorized_dm_behavior",
        title=f"{title_of(platform)}: strangers",
        help="How to respond to a direct message from a stranger on this platform.",
        section=_PEOPLE,
        kind="choice",
        default="ignore" if platform is Platform.EMAIL else None,
        may_be_none=platform is not Platform.EMAIL,
        choices=STRANGERS,
        platform=name,
        places=(
            Place((name, "unauthorized_dm_behavior"), owns=1),
            Place((*inner, "unauthorized_dm_behavior")),
            Place(("gateway", *inner, "unauthorized_dm_behavior")),
        ),
    )


def _telegram(  # noqa: PLR0913 - what differs between them
    name: str,
    label: str,
    text: str,
    *,
    kind: Kind = "texts",
    effect: Effect = Effect.RECONNECT,
    variable: str = "",
    top: bool = False,
    consequence: str = "",
) -> Option:
    """Return one option, with the places where ``hermes`` reads it, too."""
    inner = ("platforms", _TELEGRAM)
    default: Any = False if kind == "yes_no" else []
    return Option(
        key=f"{_TELEGRAM}.{name}",
        title=f"Telegram: {label}",
        help=text,
        section=_GROUPS,
        kind=kind,
        default=default,
        effect=effect,
        platform=_TELEGRAM,
        places=(
            Place((_TELEGRAM, name)),
            Place((*inner, name), hidden_by=(_TELEGRAM,)),
            Place(("gateway", *inner, name), hidden_by=(_TELEGRAM,)),
            Place((_TELEGRAM, "extra", name)),
            Place((*inner, "extra", name)),
            Place(("gateway", *inner, "extra", name)),
            *((Place((name,), only_found=True),) if top else ()),
        ),
        variables=(variable,) if variable else (),
        variable_wins=True,
        consequence=consequence,
    )


TELEGRAM_OPTIONS: tuple[Option, ...] = (
    _telegram(
        "require_mention",
        "answer in groups only when addressed",
        "Answers a group message only if it addresses the bot. The bot is addressed by its "
        "@name, by a reply to it, or by one of its commands.",
        kind="yes_no",
        variable="TELEGRAM_REQUIRE_MENTION",
        top=True,
        consequence="Other group messages are neither read nor stored.",
    ),
    _telegram(
        "free_response_chats",
        "groups where every message is answered",
        "IDs of groups where every message is answered; * means all. They are answered even if "
        "the setting above is on. The list free_response_channels in the file is added to them.",
        variable="TELEGRAM_FREE_RESPONSE_CHATS",
    ),
    _telegram(
        "allowed_chats",
        "only these groups",
        "IDs of the groups to serve. If empty, all groups where an authorized user writes are "
        "served. Direct messages are not affected.",
        variable="TELEGRAM_ALLOWED_CHATS",
        consequence="Messages in all other groups are ignored silently.",
    ),
    _telegram(
        "allowed_topics",
        "only these topics",
        "Numbers of the group topics to serve; empty: all.",
        variable="TELEGRAM_ALLOWED_TOPICS",
    ),
    _telegram(
        "group_allowed_chats",
        "groups where everyone can write",
        "IDs of groups whose members need no approval; * means all. Those in "
        "TELEGRAM_GROUP_ALLOWED_CHATS are added to them.",
        effect=Effect.LIVE,
        consequence="Anyone in such a group can use the assistant with all its tools.",
    ),
)


GATEWAY_OPTIONS: tuple[Option, ...] = (
    *settings_of(RunningSettings).values(),
    *settings_of(StreamingConfig).values(),
    *settings_of(GatewayConfig).values(),
    *_policies(),
    *(_switch(platform) for platform in _NAMED),
    *(option for platform in _WITH_PEOPLE for option in _people(platform)),
    *TELEGRAM_OPTIONS,
)

_TOKEN_NAMES = {"matrix": "access token"}


def _token(platform: Platform, name: str) -> SecretOption:
    inner = ("platforms", platform.value, "token")
    what = _TOKEN_NAMES.get(platform.value, "bot token")
    return SecretOption(
        variable=name,
        label=f"{title_of(platform)}: {what}",
        section=_PLATFORMS,
        platform=platform.value,
        places=(Place(inner), Place(("gateway", *inner))),
        effect=Effect.RECONNECT,
    )


def _extra(platform: Platform, variable_name: str, name: str, label: str) -> SecretOption:
    inner = ("platforms", platform.value, "extra", name)
    return SecretOption(
        variable=variable_name,
        label=f"{title_of(platform)}: {label}",
        section=_PLATFORMS,
        platform=platform.value,
        places=(Place((platform.value, "extra", name)), Place(inner), Place(("gateway", *inner))),
        effect=Effect.RECONNECT,
    )


GATEWAY_SECRETS: tuple[SecretOption, ...] = (
    *(_token(platform, name) for platform, name in TOKEN_VARIABLES.items()),
    _extra(Platform.MATRIX, "MATRIX_PASSWORD", "password", "password"),
    _extra(Platform.EMAIL, "EMAIL_PASSWORD", "password", "password"),
    _extra(Platform.API_SERVER, "API_SERVER_KEY", "key", "key that callers show"),
    _extra(Platform.WEBHOOK, "WEBHOOK_SECRET", "secret", "secret of the senders"),
)
