"""Authorization rules: who may write and use which command, how strangers are treated; else deny.

The rules and their order are those of the ``hermes`` command, so that both programs authorize the
same users. Variables come from the caller's lookup; the process environment is not read.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import ConfigError, HermesError, RefusedError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PairingChanged
from hermes_desktop.gateway.access.pairing import PairingResponse, PairingStore
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.config.user_lists import canonical_user, split_list, variable
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.settings.config_file import Lookup

IsPaired = Callable[[str, str], bool]
"""Returns whether the owner approved a user (platform, id); may read a file."""

StrangerTreatment = Literal["pair", "ignore"]

_TRUE = frozenset({"true", "1", "yes"})
_VOUCHED_FOR = frozenset({Platform.HOMEASSISTANT, Platform.WEBHOOK})
"""Platforms whose messages are already authenticated."""
_WITH_BOTS = frozenset({Platform.DISCORD, Platform.FEISHU, Platform.TELEGRAM, Platform.SLACK})
_GROUPS = frozenset({"group", "forum", "channel"})
_POLICIES = ("dm_policy", "group_policy")


def _unset(_name: str) -> str | None:
    return None


def is_authorized(
    source: SessionSource | None,
    config: GatewayConfig,
    lookup: Lookup = _unset,
    is_paired: IsPaired | None = None,
) -> bool:
    """Return whether the sender of a message is authorized.

    The desktop chat is written by the user who runs this program on this machine.

    Args:
        source: The origin of the message.
        config: The source of the lists in config.yaml.
        lookup: Returns the values of variables, from the environment and ``.env``.
        is_paired: Called only for senders that are not authorized otherwise; None: no user is
            paired.
    """
    known = known_sender(source, config, lookup)
    if known is not None:
        return known
    if source is None or source.user_id is None or is_paired is None:
        return False
    return is_paired(source.platform.value, source.user_id)


def known_sender(
    source: SessionSource | None, config: GatewayConfig, lookup: Lookup = _unset
) -> bool | None:
    """Decide from the settings alone, without reading a file; None: pairing decides."""
    if source is None:
        return False
    if _is_open_to_all(source, config, lookup):
        return True
    if not source.user_id:
        return False
    return True if _is_named(source, config, lookup) else None


def _is_open_to_all(source: SessionSource, config: GatewayConfig, lookup: Lookup) -> bool:
    """Return whether the sender is authorized regardless of identity."""
    if source.platform is Platform.DESKTOP or source.platform in _VOUCHED_FOR:
        return True
    return (
        source.delivered_via_upstream_relay
        or _in_open_chat(source, config, lookup)
        or _is_allowed_bot(source, lookup)
    )


def _is_named(source: SessionSource, config: GatewayConfig, lookup: Lookup) -> bool:
    """Return whether the settings or the platform authorize this sender, or everyone."""
    if _is_true(lookup(variable(source.platform.value, "ALLOW_ALL_USERS"))):
        return True
    if source.role_authorized or _is_listed(source, config, lookup):
        return True
    everybody = _is_true(lookup("GATEWAY_ALLOW_ALL_USERS"))
    return everybody and not _has_list(source.platform, config, lookup)


def _in_open_chat(source: SessionSource, config: GatewayConfig, lookup: Lookup) -> bool:
    """Return whether everyone in this group may write."""
    if source.chat_type not in _GROUPS:
        return False
    if source.platform is Platform.TELEGRAM:
        chats = split_list(lookup("TELEGRAM_GROUP_ALLOWED_CHATS"))
        chats |= as_ids(_extra(source.platform, config).get("group_allowed_chats"))
        users = split_list(lookup("TELEGRAM_GROUP_ALLOWED_USERS"))
        # This variable used to hold ids of groups.
        chats |= {each for each in users if each.startswith("-")}
    elif source.platform is Platform.QQBOT:
        chats = split_list(lookup("QQ_GROUP_ALLOWED_USERS"))
    else:
        return False
    return bool({"*", source.chat_id} & chats)


def _is_allowed_bot(source: SessionSource, lookup: Lookup) -> bool:
    if not source.is_bot or source.platform not in _WITH_BOTS:
        return False
    allowed = lookup(variable(source.platform.value, "ALLOW_BOTS")) or ""
    return allowed.strip().lower() in {"mentions", "all"}


def _is_listed(source: SessionSource, config: GatewayConfig, lookup: Lookup) -> bool:
    platform = source.platform.value
    names = split_list(lookup(variable(platform, "ALLOWED_USERS")))
    names |= split_list(lookup("GATEWAY_ALLOWED_USERS"))
    extra = _extra(source.platform, config)
    names |= as_ids(extra.get("allow_from"))
    if source.chat_type in _GROUPS and source.platform is Platform.TELEGRAM:
        names |= split_list(lookup("TELEGRAM_GROUP_ALLOWED_USERS"))
    if source.chat_type != "dm":
        names |= as_ids(extra.get("group_allow_from"))
    user_id = source.user_id or ""
    own = {"*", user_id, user_id.partition("@")[0], canonical_user(platform, user_id)} - {""}
    return bool(own & names) or bool(own & {canonical_user(platform, name) for name in names})


def _has_list(platform: Platform, config: GatewayConfig, lookup: Lookup) -> bool:
    """Return whether a list of allowed users exists for the platform."""
    variables = [variable(platform.value, "ALLOWED_USERS"), "GATEWAY_ALLOWED_USERS"]
    if platform is Platform.TELEGRAM:
        variables += ["TELEGRAM_GROUP_ALLOWED_USERS", "TELEGRAM_GROUP_ALLOWED_CHATS"]
    elif platform is Platform.QQBOT:
        variables.append("QQ_GROUP_ALLOWED_USERS")
    extra = _extra(platform, config)
    return any(lookup(name) for name in variables) or any(
        as_ids(extra.get(name)) for name in ("allow_from", "group_allow_from")
    )


def stranger_treatment(
    platform: Platform, config: GatewayConfig, lookup: Lookup = _unset
) -> StrangerTreatment:
    """Return the response to a stranger's direct message: a pairing code, or nothing."""
    extra = _extra(platform, config)
    own = str(extra.get("unauthorized_dm_behavior")).strip().lower()
    if own in {"pair", "ignore"}:
        return "pair" if own == "pair" else "ignore"
    if platform is Platform.EMAIL or config.unauthorized_dm_behavior == "ignore":
        return "ignore"
    policy = str(extra.get("dm_policy")).strip().lower()
    if policy == "pairing":
        return "pair"
    if policy in {"allowlist", "disabled"} or _has_list(platform, config, lookup):
        return "ignore"
    return "pair"


def open_policies(config: GatewayConfig, lookup: Lookup = _unset) -> tuple[str, ...]:
    """Return settings that would authorize everyone without an explicit opt-in.

    Returns:
        Names such as ``telegram.dm_policy``; the gateway must not be started with any.
    """
    if _is_true(lookup("GATEWAY_ALLOW_ALL_USERS")):
        return ()
    return tuple(
        sorted(
            f"{platform.value}.{name}"
            for platform, settings in config.platforms.items()
            if settings.enabled
            and not _is_true(lookup(variable(platform.value, "ALLOW_ALL_USERS")))
            for name in _POLICIES
            if str(settings.extra.get(name)).strip().lower() == "open"
        )
    )


def refuse_open_policies(config: GatewayConfig, lookup: Lookup = _unset) -> None:
    """Refuse to start a gateway to which everyone could write by mistake.

    Raises:
        RefusedError: Everyone could.
    """
    found = open_policies(config, lookup)
    if not found:
        return
    platforms = sorted({name.partition(".")[0] for name in found})
    variables = " or ".join(f"{variable(name, 'ALLOW_ALL_USERS')}=true" for name in platforms)
    raise RefusedError(
        "Anyone could write to the assistant.",
        f"{', '.join(found)} in config.yaml is set to open, without confirmation that this is "
        "intended.",
        f"Set it to allowlist or pairing. To let everyone write, set {variables}.",
    )


def as_ids(value: Any) -> frozenset[str]:
    """Return the ids in a setting: a list, or a comma-separated text."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple | set | frozenset):
        parts = () if parts is None else (parts,)
    return frozenset(text for part in parts if (text := str(part).strip()))


def _extra(platform: Platform, config: GatewayConfig) -> Mapping[str, Any]:
    settings = config.platforms.get(platform)
    return settings.extra if settings is not None else {}


def _is_true(value: str | None) -> bool:
    return (value or "").strip().lower() in _TRUE


ALWAYS = frozenset({"help", "whoami"})


@dataclass(frozen=True, slots=True)
class CommandAccess:
    """The commands one sender may use in one chat.

    Attributes:
        limited: Whether any admins are defined; without, every authorized sender may use all
            commands.
        is_admin: Whether this sender may use all commands.
        names: The commands for non-admins besides :data:`ALWAYS`; canonical names.
    """

    limited: bool = False
    is_admin: bool = True
    names: frozenset[str] = frozenset()

    def allows(self, name: str) -> bool:
        """Return whether a command, by its canonical name, may be used."""
        return self.is_admin or name in ALWAYS or name in self.names


def command_access(source: SessionSource, config: GatewayConfig) -> CommandAccess:
    """Return the command permissions of a sender.

    Limits apply where ``allow_admin_from`` (direct messages) or ``group_allow_admin_from``
    (everything else) is not empty. The user of this machine may use all commands.
    """
    settings = config.platforms.get(source.platform)
    if source.platform is Platform.DESKTOP or settings is None:
        return CommandAccess()
    prefix = "" if source.chat_type == "dm" else "group_"
    admins = as_ids(settings.extra.get(f"{prefix}allow_admin_from"))
    if not admins:
        return CommandAccess()
    listed = as_ids(settings.extra.get(f"{prefix}user_allowed_commands"))
    names = frozenset(name.lstrip("/").lower() for name in listed)
    return CommandAccess(limited=True, is_admin=source.user_id in admins, names=names)


log = logging.getLogger(__name__)

TOO_MANY = "Too many people are requesting access right now. Try again later."
_MOST_REFUSALS, _REFUSALS_S = 5, 60.0
"""Limit of refusal replies per period; platforms block a bot that answers every stranger."""


class Access:
    """Authorization of senders. Use on the event loop, except :meth:`allows`.

    Args:
        config: Lists and policies.
        lookup: Returns the current values of variables, so that a removed user is locked out
            immediately. May block, and raise :class:`ConfigError`.
        pairing: Requests and approvals.
        worker: The worker that reads their files, in the order of the calls.
        bus: Receives an event for each new pairing request.
    """

    def __init__(
        self,
        config: GatewayConfig,
        lookup: Callable[[], Lookup],
        pairing: PairingStore,
        *,
        worker: WorkerThreads,
        bus: EventBus,
    ) -> None:
        self._config = config
        self._lookup = lookup
        self._pairing = pairing
        self._worker = worker
        self._bus = bus
        self._refused: deque[float] = deque(maxlen=_MOST_REFUSALS)

    def use(self, config: GatewayConfig) -> None:
        """Use other lists and policies from now on."""
        self._config = config

    def allows(self, source: SessionSource | None) -> bool:
        """Return whether a sender may write. Reads files; any thread.

        While the lists cannot be read, only the user of this machine may.
        """
        if source is not None and source.platform is Platform.DESKTOP:
            return True
        try:
            lookup = self._lookup()
        except ConfigError as error:
            log.warning("A message is refused: %s", error)
            return False
        return is_authorized(source, self._config, lookup, self._pairing.is_approved)

    async def admits(self, source: SessionSource | None) -> bool:
        """Return whether a sender may write."""
        if source is not None and source.platform is Platform.DESKTOP:
            return True
        return await self._worker.run(self.allows, source)

    async def answer_to_stranger(self, source: SessionSource) -> str:
        """Record a stranger's request; return the reply, "" for none.

        Groups and strangers without an id get no reply. Never raises.
        """
        if source.chat_type != "dm" or not source.user_id or source.is_bot:
            return ""
        try:
            answer = await self._worker.run(self._asked, source, source.user_id)
        except HermesError as error:
            log.warning("A stranger's request could not be noted: %s", error)
            return ""
        if answer is None:
            return ""
        if answer.why == "asked_lately":
            return ""
        if answer.code is None:
            return TOO_MANY if self._may_send_refusal() else ""
        self._bus.publish(PairingChanged())
        return _invitation(source.platform.value, answer.code)

    def _may_send_refusal(self) -> bool:
        """Return whether another stranger may be asked to retry, within the reply limit."""
        now = asyncio.get_running_loop().time()
        if len(self._refused) == _MOST_REFUSALS and now - self._refused[0] < _REFUSALS_S:
            return False
        self._refused.append(now)
        return True

    def _asked(self, source: SessionSource, user_id: str) -> PairingResponse | None:
        if stranger_treatment(source.platform, self._config, self._lookup()) == "ignore":
            return None
        return self._pairing.request(source.platform.value, user_id, source.user_name)


def _invitation(platform: str, code: str) -> str:
    return (
        f"This assistant does not know you yet. Send this code to its owner:\n\n{code}\n\nThe "
        "owner approves it in the window of Hermes Desktop, or with\nhermes-desktop gateway "
        f"pairing approve {platform} {code}\n\nThe code is valid for one hour."
    )
