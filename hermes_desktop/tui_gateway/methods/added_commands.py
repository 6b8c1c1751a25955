"""Commands that did not come with the program, for live sessions: the person's own, and plugins'.

The program's own commands come first, then the person's, then those of plugins, as in chats.
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
"""Of what a command of a plugin answers; as in chats."""


@dataclass(frozen=True, slots=True)
class Added:
    """One of them.

    Attributes:
        definition: As it stands in lists.
        category: Under which heading.
        does: The person's own command, or that of a plugin.
    """

    definition: CommandDef
    category: str
    does: OwnCommand | PluginCommand


def all_added(server: Server) -> Sequence[Added]:
    """All that can be done, each name once. Blocks: settings are read, plugins waited for."""
    found: dict[str, Added] = {}
    for own in server.program.own_commands():
        found.setdefault(own.definition.name, Added(own.definition, OWN_CATEGORY, own))
    for each in plugins.COMMANDS.all():
        found.setdefault(each.name, Added(_definition(each), CATEGORY, each))
    return [each for name, each in found.items() if resolve_command(name) is None]


def find(server: Server, name: str) -> Added | None:
    """The one of that name; our own names cannot be taken. Blocks as :func:`all_added`."""
    clean = name.strip().lstrip("/").lower()
    if resolve_command(clean) is not None:
        return None
    return next((each for each in all_added(server) if each.definition.name == clean), None)


def meant(server: Server, name: str, args: str) -> tuple[str, str]:
    """Name and arguments that are to be done: of an alias, those it stands for. Once only."""
    found = find(server, name)
    if found is None or not isinstance(found.does, OwnCommand) or not found.does.stands_for:
        return name, args
    other, _, before = found.does.stands_for.lstrip("/").partition(" ")
    return other, f"{before} {args}".strip()


def doable(server: Server, name: str) -> Added | None:
    """As :func:`find`, but for aliases: one that stands for another one goes nowhere."""
    found = find(server, name)
    if found is not None and isinstance(found.does, OwnCommand) and found.does.stands_for:
        return None
    return found


def run(command: Added, session: Session, args: str) -> str:
    """Do one; its answer. Blocks for a bounded time; interrupting the session ends it.

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
    except BaseException as error:  # somebody else's code
        log.warning("/%s (%s) failed", name, command.category, exc_info=True)
        words = f"/{name} failed: {type(error).__name__}; the log says more"
        raise RpcError(Code.HOST, words) from error


def _definition(command: PluginCommand) -> CommandDef:
    words = command.description or f"of the plugin {command.plugin}"
    return CommandDef(command.name, words, "Added", args_hint=command.args_hint)
