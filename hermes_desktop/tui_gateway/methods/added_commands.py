"""User-defined commands and commands of plugins, for live sessions.

The program's own commands take precedence, then the user's, then those of plugins, as in chats.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop import plugins
from hermes_desktop.commands.registry import CommandDef, resolve_command
from hermes_desktop.plugins.commands import PluginCommand
from hermes_desktop.tui_gateway.program import OwnCommand
from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Server, Session

log = logging.getLogger(__name__)

CATEGORY = "Plugins"
OWN_CATEGORY = "Added"
MOST_CHARACTERS = 20_000
"""Length limit of the reply of a plugin's command; as in chats."""


@dataclass(frozen=True, slots=True)
class Added:
    """A user-defined command or a plugin's command.

    Attributes:
        definition: Its definition for lists.
        category: Its heading in lists.
        does: The user's own command, or that of a plugin.
    """

    definition: CommandDef
    category: str
    does: OwnCommand | PluginCommand


def all_added(server: Server) -> Sequence[Added]:
    """Return all executable added commands, each name once.

    Blocks: settings are read, plugins waited for.
    """
    found: dict[str, Added] = {}
    for own in server.program.own_commands():
        found.setdefault(own.definition.name, Added(own.definition, OWN_CATEGORY, own))
    for each in plugins.COMMANDS.all():
        found.setdefault(each.name, Added(_definition(each), CATEGORY, each))
    return [each for name, each in found.items() if resolve_command(name) is None]


def find(server: Server, name: str) -> Added | None:
    """Return the added command of a name; built-in names cannot be taken. Blocks likewise."""
    clean = name.strip().lstrip("/").lower()
    if resolve_command(clean) is not None:
        return None
    return next((each for each in all_added(server) if each.definition.name == clean), None)


def meant(server: Server, name: str, args: str) -> tuple[str, str]:
    """Return the name and arguments to execute: an alias is resolved, once only."""
    found = find(server, name)
    if found is None or not isinstance(found.does, OwnCommand) or not found.does.stands_for:
        return name, args
    other, _, before = found.does.stands_for.lstrip("/").partition(" ")
    return other, f"{before} {args}".strip()


def doable(server: Server, name: str) -> Added | None:
    """Return the command like :func:`find`, but no alias: an alias of an alias is invalid."""
    found = find(server, name)
    if found is not None and isinstance(found.does, OwnCommand) and found.does.stands_for:
        return None
    return found


def run(command: Added, session: Session, args: str) -> str:
    """Run a command; return its reply. Bounded; interrupting the session ends it.

    Raises:
        RpcError: It failed, or took too long.
    """
    name = command.definition.name
    interrupts = session.get("interrupts", 0)

    def given_up() -> bool:
        return bool(session.get("_closing")) or session.get("interrupts", 0) != interrupts

    try:
        return command.does.run(args, given_up)[:MOST_CHARACTERS]
    except TimeoutError as error:
        words = f"/{name} was interrupted" if given_up() else f"/{name} took too long"
        raise RpcError(Code.HOST, words) from error
    except BaseException as error:  # third-party code
        log.warning("/%s (%s) failed", name, command.category, exc_info=True)
        words = f"/{name} failed: {type(error).__name__}; the log says more"
        raise RpcError(Code.HOST, words) from error


def _definition(command: PluginCommand) -> CommandDef:
    words = command.description or f"of the plugin {command.plugin}"
    return CommandDef(command.name, words, "Added", args_hint=command.args_hint)
