"""User-visible Telegram options: which groups are answered, and when."""

from typing import Any

from hermes_desktop.settings.options import Effect, Kind, Option, Place

_SECTION = "Groups"
_NAME = "telegram"


def _option(  # noqa: PLR0913 - what differs between them
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
    inner = ("platforms", _NAME)
    default: Any = False if kind == "yes_no" else []
    return Option(
        key=f"{_NAME}.{name}",
        label=f"Telegram: {label}",
        help=text,
        section=_SECTION,
        kind=kind,
        default=default,
        effect=effect,
        platform=_NAME,
        places=(
            Place((_NAME, name)),
            Place((*inner, name), hidden_by=(_NAME,)),
            Place(("gateway", *inner, name), hidden_by=(_NAME,)),
            Place((_NAME, "extra", name)),
            Place((*inner, "extra", name)),
            Place(("gateway", *inner, "extra", name)),
            *((Place((name,), only_found=True),) if top else ()),
        ),
        variables=(variable,) if variable else (),
        variable_wins=True,
        consequence=consequence,
    )


TELEGRAM_OPTIONS: tuple[Option, ...] = (
    _option(
        "require_mention",
        "answer groups only when meant",
        "A message in a group is answered only if it means the bot: by its @name, as a reply to "
        "it, or as one of its commands.",
        kind="yes_no",
        variable="TELEGRAM_REQUIRE_MENTION",
        top=True,
        consequence="Other messages in groups are neither read nor kept.",
    ),
    _option(
        "free_response_chats",
        "groups where it is always meant",
        "Ids of groups in which every message is answered although the setting above is on; * "
        "stands for all. free_response_channels in the file is added to them.",
        variable="TELEGRAM_FREE_RESPONSE_CHATS",
    ),
    _option(
        "allowed_chats",
        "the only groups that are served",
        "Ids of the groups that are looked at; none: all in which somebody writes who may. It "
        "says nothing about direct messages.",
        variable="TELEGRAM_ALLOWED_CHATS",
        consequence="Messages in all other groups are passed over without a word.",
    ),
    _option(
        "allowed_topics",
        "the only topics that are served",
        "Numbers of the topics of a group that are looked at; none: all.",
        variable="TELEGRAM_ALLOWED_TOPICS",
    ),
    _option(
        "group_allowed_chats",
        "groups where everybody may write",
        "Ids of groups whose members need not be listed or let in; * stands for all. Those in "
        "TELEGRAM_GROUP_ALLOWED_CHATS are added to them.",
        effect=Effect.LIVE,
        consequence="Whoever is let into such a group can have the assistant do what it may do.",
    ),
)
