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
        "answer in groups only when addressed",
        "Answers a group message only if it addresses the bot: by its @name, as a reply to "
        "it, or as one of its commands.",
        kind="yes_no",
        variable="TELEGRAM_REQUIRE_MENTION",
        top=True,
        consequence="Other group messages are neither read nor stored.",
    ),
    _option(
        "free_response_chats",
        "groups where every message is answered",
        "Ids of groups where every message is answered even if the setting above is on; * "
        "means all. free_response_channels in the file is added to them.",
        variable="TELEGRAM_FREE_RESPONSE_CHATS",
    ),
    _option(
        "allowed_chats",
        "only these groups",
        "Ids of the groups to serve; empty: all groups where an authorized person writes. "
        "Does not affect direct messages.",
        variable="TELEGRAM_ALLOWED_CHATS",
        consequence="Messages in all other groups are ignored silently.",
    ),
    _option(
        "allowed_topics",
        "only these topics",
        "Numbers of the group topics to serve; empty: all.",
        variable="TELEGRAM_ALLOWED_TOPICS",
    ),
    _option(
        "group_allowed_chats",
        "groups where everyone can write",
        "Ids of groups whose members need no approval; * means all. Those in "
        "TELEGRAM_GROUP_ALLOWED_CHATS are added to them.",
        effect=Effect.LIVE,
        consequence="Anyone in such a group can use the assistant with all its tools.",
    ),
)
