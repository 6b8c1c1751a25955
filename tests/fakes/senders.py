"""Cases of authorization: senders, settings and results, with which ``hermes`` must agree."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One sender.

    Attributes:
        source: Fields of the source besides ``platform`` (telegram) and ``chat_id`` (c).
        extra: The platform's own settings.
        paired: Users that the owner approved.
    """

    allowed: bool
    treatment: str
    source: dict[str, Any]
    variables: dict[str, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    paired: tuple[str, ...] = ()


def _tg(name: str) -> str:
    return f"TELEGRAM_{name}"


USERS, ALL = _tg("ALLOWED_USERS"), _tg("ALLOW_ALL_USERS")
GROUP_USERS, CHATS, BOTS = (
    _tg("GROUP_ALLOWED_USERS"),
    _tg("GROUP_ALLOWED_CHATS"),
    _tg("ALLOW_BOTS"),
)
EVERYBODY = "GATEWAY_ALLOW_ALL_USERS"
P = "platform"
GROUP = {"user_id": "9", "chat_type": "group"}

CASES = (
    Case(False, "pair", {"user_id": "9"}),
    Case(True, "ignore", {"user_id": "9"}, {USERS: "9"}),
    Case(False, "ignore", {"user_id": "9"}, {USERS: "1"}),
    Case(True, "ignore", {"user_id": "9@x"}, {USERS: "9"}),
    Case(False, "ignore", {"user_id": "9"}, {USERS: "9@x"}),
    Case(True, "ignore", {"user_id": "9"}, {USERS: " 1 , 9 ,"}),
    Case(False, "ignore", {"user_id": "abc"}, {USERS: "AbC"}),
    Case(False, "ignore", {"user_id": "2", "user_name": "ann"}, {USERS: "ann"}),
    Case(False, "ignore", {"user_id": "2", "user_id_alt": "1"}, {USERS: "1"}),
    Case(True, "ignore", {"user_id": "9"}, {USERS: "*"}),
    Case(False, "ignore", {}, {USERS: "*"}),
    Case(False, "ignore", {"user_id": "9"}, {USERS: ","}),
    Case(True, "ignore", {"user_id": "9"}, {"GATEWAY_ALLOWED_USERS": "9"}),
    Case(True, "ignore", GROUP, {"GATEWAY_ALLOWED_USERS": "9"}),
    Case(True, "ignore", {**GROUP, "chat_type": "channel"}, {USERS: "9"}),
    Case(True, "ignore", GROUP, {GROUP_USERS: "9"}),
    Case(True, "ignore", GROUP, {GROUP_USERS: "*"}),
    Case(True, "ignore", {**GROUP, "chat_id": "-100"}, {GROUP_USERS: "-100"}),
    Case(False, "ignore", {**GROUP, "chat_type": "thread"}, {GROUP_USERS: "9"}),
    Case(False, "ignore", {"user_id": "9"}, {GROUP_USERS: "9"}),
    Case(True, "ignore", GROUP, {CHATS: "c"}),
    Case(True, "ignore", {"chat_type": "group"}, {CHATS: "c"}),
    Case(True, "ignore", {**GROUP, "chat_type": "channel"}, {CHATS: "b,c"}),
    Case(True, "ignore", {**GROUP, "chat_type": "forum"}, {CHATS: "*"}),
    Case(False, "ignore", {**GROUP, "chat_type": "thread"}, {CHATS: "c"}),
    Case(False, "ignore", {"user_id": "9"}, {CHATS: "c"}),
    Case(True, "pair", {"user_id": "9"}, {EVERYBODY: "true"}),
    Case(False, "ignore", {"user_id": "9"}, {EVERYBODY: "true", USERS: "1"}),
    Case(True, "pair", {"user_id": "9"}, {ALL: "Yes"}),
    Case(True, "ignore", {"user_id": "9"}, {ALL: "1", USERS: "1"}),
    Case(False, "pair", {"user_id": "9"}, {ALL: "on"}),
    Case(True, "pair", {"user_id": "9", "role_authorized": True}),
    Case(True, "ignore", {"user_id": "9", "is_bot": True}, {USERS: "9"}),
    Case(True, "pair", {"user_id": "9", "is_bot": True}, {BOTS: "mentions"}),
    Case(True, "ignore", {"is_bot": True}, {BOTS: "all", USERS: "1"}),
    Case(True, "ignore", {"user_id": "9", "is_bot": True}, {BOTS: "none", USERS: "9"}),
    Case(False, "ignore", {"user_id": "8", "is_bot": True}, {BOTS: "none", USERS: "9"}),
    Case(
        False,
        "ignore",
        {P: "matrix", "user_id": "2", "is_bot": True},
        {"MATRIX_ALLOW_BOTS": "all", "MATRIX_ALLOWED_USERS": "1"},
    ),
    Case(True, "pair", {P: "webhook"}),
    Case(True, "pair", {P: "homeassistant"}),
    Case(True, "pair", {"delivered_via_upstream_relay": True}),
    Case(True, "ignore", {P: "email", "user_id": "a@b.c"}, {"EMAIL_ALLOWED_USERS": "a"}),
    Case(False, "ignore", {P: "email", "user_id": "a@b.c"}),
    Case(
        True,
        "ignore",
        {P: "whatsapp", "user_id": "123:4@s.whatsapp.net"},
        {"WHATSAPP_ALLOWED_USERS": "+123"},
    ),
    Case(True, "ignore", {P: "qqbot", "user_id": "9"}, {"QQ_ALLOWED_USERS": "9"}),
    Case(False, "pair", {P: "qqbot", "user_id": "9"}, {"QQBOT_ALLOWED_USERS": "9"}),
    Case(True, "ignore", {**GROUP, P: "qqbot"}, {"QQ_GROUP_ALLOWED_USERS": "c"}),
    Case(False, "ignore", {P: "qqbot", "user_id": "9"}, {"QQ_GROUP_ALLOWED_USERS": "c"}),
    Case(True, "pair", {"user_id": "9"}, paired=("9",)),
    Case(True, "ignore", {"user_id": "9"}, {USERS: "1"}, paired=("9",)),
    Case(True, "pair", GROUP, paired=("9",)),
    Case(False, "pair", {"user_id": "9"}, extra={"dm_policy": "open"}),
    Case(False, "pair", {"user_id": "9"}, {USERS: "1"}, {"dm_policy": "pairing"}),
    Case(False, "ignore", {"user_id": "9"}, extra={"dm_policy": "disabled"}),
    Case(False, "ignore", {"user_id": "9"}, extra={"dm_policy": "allowlist"}),
    Case(False, "pair", {"user_id": "9"}, {USERS: "1"}, {"unauthorized_dm_behavior": "pair"}),
    Case(False, "ignore", {"user_id": "9"}, extra={"unauthorized_dm_behavior": "ignore"}),
)
