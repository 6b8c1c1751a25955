"""User-defined commands and commands of plugins."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from hermes_desktop import plugins
from hermes_desktop.commands.context import CommandReply
from hermes_desktop.commands.registry import CommandDef, resolve_command
from hermes_desktop.core.concurrency.time_bound import PendingCall
from hermes_desktop.gateway.commands.quick_commands import (
    QuickCommand,
    QuickRunner,
    quick_command,
    quick_commands,
)
from hermes_desktop.plugins.commands import COMMAND_S, CommandTable, PluginCommand

log = logging.getLogger(__name__)

MOST_AT_ONCE = 4
MOST_CHARACTERS = 20_000


class AddedCommands:
    """Finder and runner of added commands. On the event loop; each runs on a separate thread.

    Their time is bounded. The program's own commands take precedence, then the user's, then those
    of plugins.

    Args:
        section: Returns the current ``quick_commands`` of config.yaml.
        quick: Runs the shell commands among them; None: they are not available.
        table: The commands of plugins.
    """

    def __init__(
        self,
        section: Callable[[], Mapping[str, Any]],
        quick: QuickRunner | None,
        table: CommandTable = plugins.COMMANDS,
    ) -> None:
        self._section = section
        self._quick = quick
        self._table = table
        self._running = 0

    def definitions(self) -> tuple[CommandDef, ...]:
        """Return the definitions of all added commands, for lists."""
        own = [
            each.definition()
            for each in quick_commands(self._section())
            if resolve_command(each.name) is None
            and (each.kind == "alias" or self._quick is not None)
        ]
        taken = {each.name for each in own}
        theirs = [
            _definition(each)
            for each in self._table.all()
            if each.name not in taken and resolve_command(each.name) is None
        ]
        return (*own, *theirs)

    def alias(self, name: str) -> str | None:
        """Return the target of an alias, with its arguments."""
        found = quick_command(self._section(), name)
        return found.does.lstrip("/") if found is not None and found.kind == "alias" else None

    def find(self, name: str) -> CommandDef | None:
        """Return the executable command of that name."""
        found = self._find(name)
        if isinstance(found, QuickCommand):
            return found.definition()
        return _definition(found) if found is not None else None

    def _find(self, name: str) -> QuickCommand | PluginCommand | None:
        own = quick_command(self._section(), name)
        if own is not None and own.kind == "exec" and self._quick is not None:
            return own
        return self._table.find(name)

    async def run(self, name: str, args: str) -> CommandReply:
        """Run a command and return its reply; never raises for it. Cancelling ends its program."""
        found = self._find(name)
        if found is None:
            return CommandReply(f"/{name} is not there any more.")
        if self._running >= MOST_AT_ONCE:
            return CommandReply("Too many commands run at the moment. Try again in a while.")
        gone = threading.Event()
        self._running += 1
        try:
            return CommandReply(await _on_thread(lambda: self._do(found, args, gone), name))
        finally:
            gone.set()
            self._running -= 1

    def _do(self, found: QuickCommand | PluginCommand, args: str, gone: threading.Event) -> str:
        if isinstance(found, QuickCommand):
            assert self._quick is not None  # noqa: S101 - else it is not found
            return self._quick.run(found, gone.is_set)
        name = f"/{found.name} of the plugin {found.plugin}"
        try:
            return found.run(args, gone.is_set)[:MOST_CHARACTERS]
        except TimeoutError:
            log.error("%s took longer than %g s", name, COMMAND_S)  # noqa: TRY400 - no bug of ours
            return f"{name} took longer than {COMMAND_S:g} seconds and is not waited for."
        except BaseException:  # third-party code, which may call sys.exit(), too
            log.warning("%s failed", name, exc_info=True)
            return f"{name} failed. The log says more."


def _definition(command: PluginCommand) -> CommandDef:
    words = command.description or f"a command of the plugin {command.plugin}"
    return CommandDef(command.name, words.rstrip("."), "Added", args_hint=command.args_hint)


async def _on_thread(call: Callable[[], str], name: str) -> str:
    """Await a call on a separate thread; the program's commands must not wait for it."""
    future: Future[str] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            future.set_exception(error)

    PendingCall(work, f"added-command {name}")
    return await asyncio.shield(asyncio.wrap_future(future))
