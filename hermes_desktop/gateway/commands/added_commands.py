"""User-defined commands and commands of plugins."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from hermes_desktop import plugins
from hermes_desktop.commands.added_commands import AddedCommand, added_commands, own_commands
from hermes_desktop.commands.context import CommandReply
from hermes_desktop.commands.quick_commands import QuickRunner
from hermes_desktop.commands.registry import CommandDef
from hermes_desktop.core.concurrency.time_bound import PendingCall
from hermes_desktop.plugins.commands import COMMAND_S, CommandTable

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

    def _all(self) -> dict[str, AddedCommand]:
        return added_commands(own_commands(self._section(), self._quick), self._table)

    def definitions(self) -> tuple[CommandDef, ...]:
        """Return the definitions of all added commands, for lists."""
        return tuple(each.definition for each in self._all().values())

    def alias(self, name: str) -> str | None:
        """Return the target of an alias, with its arguments."""
        found = self._all().get(name)
        return found.stands_for or None if found is not None else None

    def find(self, name: str) -> CommandDef | None:
        """Return the executable command of that name."""
        found = self._find(name)
        return found.definition if found is not None else None

    def _find(self, name: str) -> AddedCommand | None:
        found = self._all().get(name)
        return found if found is not None and not found.stands_for else None

    async def run(self, name: str, args: str) -> CommandReply:
        """Run a command and return its reply; never raises for it. Cancelling ends its program."""
        found = self._find(name)
        if found is None:
            return CommandReply(f"/{name} no longer exists.")
        if self._running >= MOST_AT_ONCE:
            return CommandReply("Too many commands are running. Try again in a moment.")
        gone = threading.Event()
        self._running += 1
        try:
            return CommandReply(await _on_thread(lambda: _reply(found, args, gone), name))
        finally:
            gone.set()
            self._running -= 1


def _reply(found: AddedCommand, args: str, gone: threading.Event) -> str:
    if not found.plugin:
        return found.run(args, gone.is_set)
    name = f"/{found.definition.name} of the plugin {found.plugin}"
    try:
        return found.run(args, gone.is_set)[:MOST_CHARACTERS]
    except TimeoutError:
        log.error("%s took longer than %g s", name, COMMAND_S)  # noqa: TRY400 - not our bug
        return f"{name} took longer than {COMMAND_S:g} seconds and was abandoned."
    except BaseException:  # third-party code, which may call sys.exit(), too
        log.warning("%s failed", name, exc_info=True)
        return f"{name} failed. See the log for details."


async def _on_thread(call: Callable[[], str], name: str) -> str:
    """Await a call on a separate thread; the program's commands must not wait for it."""
    future: Future[str] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            future.set_exception(error)

    PendingCall(work, f"added-command {name}")
    return await asyncio.shield(asyncio.wrap_future(future))
