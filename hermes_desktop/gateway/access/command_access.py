"""Permissions for commands in a chat."""

from dataclasses import dataclass

from hermes_desktop.gateway.access.authorization import as_ids
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.session import SessionSource

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
