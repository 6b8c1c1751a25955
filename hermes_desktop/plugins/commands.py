"""Commands that plugins add to chats."""

import inspect
import logging
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.concurrency.time_bound import call_within

log = logging.getLogger(__name__)

COMMAND_S = 30.0
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True)
class PluginCommand:
    """A command of a plugin.

    Attributes:
        name: The name in lower case, without a slash.
        handler: Called with the text after the command; returns the answer, None, or an awaitable.
        plugin: The name of the plugin.
    """

    name: str
    handler: Callable[[str], Any]
    description: str = ""
    args_hint: str = ""
    plugin: str = ""

    def run(self, args: str, given_up: Callable[[], bool] = lambda: False) -> str:
        """Run the command and return the answer. Blocks, :data:`COMMAND_S` at most.

        Raises:
            TimeoutError: It took too long, or was given up.
            BaseException: The exception that the plugin raised.
        """
        name = f"plugin-command {self.name}"
        answer = call_within(
            COMMAND_S, lambda: awaited(self.handler(args)), name=name, given_up=given_up
        )
        return "" if answer is None else str(answer)


def awaited(answer: Any) -> Any:
    """Return what a plugin's function returned; an awaitable is run in a new event loop. Blocks."""
    if not inspect.isawaitable(answer):
        return answer
    import asyncio  # noqa: PLC0415 - only for a plugin that uses it

    async def wait() -> Any:
        return await answer

    return asyncio.run(wait())


class CommandTable:
    """The commands of all plugins. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._commands: dict[str, PluginCommand] = {}

    def add(self, command: PluginCommand) -> Callable[[], None]:
        """Add a command.

        Returns:
            A function that removes it again; harmless when called twice.

        Raises:
            ValueError: Its name is invalid or taken.
        """
        if not _NAME.fullmatch(command.name):
            raise ValueError(f"“{command.name}” cannot be the name of a command")
        with self._lock:
            if command.name in self._commands:
                owner = self._commands[command.name].plugin
                raise ValueError(f"/{command.name} is a command of {owner} already")
            self._commands[command.name] = command

        def take_out() -> None:
            with self._lock:
                if self._commands.get(command.name) is command:
                    del self._commands[command.name]

        return take_out

    def find(self, name: str) -> PluginCommand | None:
        """Return the command of that name, if there is one."""
        return self._commands.get(name)

    def all(self) -> tuple[PluginCommand, ...]:
        """Return all commands, sorted by name."""
        with self._lock:
            return tuple(self._commands[name] for name in sorted(self._commands))
