"""User-defined commands and commands of plugins, for live sessions.

The program's own commands take precedence, then the user's, then those of plugins, as in chats.
"""

import logging

from hermes_desktop import plugins
from hermes_desktop.commands.added_commands import AddedCommand, added_commands
from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Server, Session

log = logging.getLogger(__name__)

MOST_CHARACTERS = 20_000
"""Length limit of the reply of a plugin's command; as in chats."""


def all_added(server: Server) -> dict[str, AddedCommand]:
    """Return all added commands by name. Blocks: settings are read, plugins waited for."""
    return added_commands(server.program.own_commands(), plugins.COMMANDS)


def category(command: AddedCommand) -> str:
    """Return the heading of a command in lists."""
    return "Plugins" if command.plugin else "Added"


def find(server: Server, name: str) -> AddedCommand | None:
    """Return the added command of a name; built-in names cannot be taken. Blocks likewise."""
    return all_added(server).get(name.strip().lstrip("/").lower())


def meant(server: Server, name: str, args: str) -> tuple[str, str]:
    """Return the name and arguments to execute: an alias is resolved, once only."""
    found = find(server, name)
    if found is None or not found.stands_for:
        return name, args
    other, _, before = found.stands_for.lstrip("/").partition(" ")
    return other, f"{before} {args}".strip()


def doable(server: Server, name: str) -> AddedCommand | None:
    """Return the command like :func:`find`, but no alias: an alias of an alias is invalid."""
    found = find(server, name)
    return None if found is not None and found.stands_for else found


def run(command: AddedCommand, session: Session, args: str) -> str:
    """Run a command; return its reply. Bounded; interrupting the session ends it.

    Raises:
        RpcError: It failed, or took too long.
    """
    name = command.definition.name
    interrupts = session.get("interrupts", 0)

    def given_up() -> bool:
        return bool(session.get("_closing")) or session.get("interrupts", 0) != interrupts

    try:
        return command.run(args, given_up)[:MOST_CHARACTERS]
    except TimeoutError as error:
        words = f"/{name} was interrupted" if given_up() else f"/{name} took too long"
        raise RpcError(Code.HOST, words) from error
    except BaseException as error:  # third-party code
        log.warning("/%s (%s) failed", name, category(command), exc_info=True)
        words = f"/{name} failed: {type(error).__name__}; the log says more"
        raise RpcError(Code.HOST, words) from error
