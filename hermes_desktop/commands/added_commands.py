"""The table of added commands: the user's own and those of plugins, for chats and JSON-RPC alike.

The program's own commands take precedence, then the user's, then those of plugins.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hermes_desktop.commands.quick_commands import QuickCommand, quick_commands
from hermes_desktop.commands.registry import CommandDef, resolve_command
from hermes_desktop.plugins.commands import CommandTable, PluginCommand

Run = Callable[[str, Callable[[], bool]], str]


def _does_nothing(_args: str, _given_up: Callable[[], bool]) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class AddedCommand:
    """A command of the user or of a plugin.

    Attributes:
        definition: Its definition for lists.
        stands_for: Target of an alias: the other command with its arguments; else "".
        run: Runs it and returns its reply; takes the typed arguments, and a function that is called
            now and then and returns whether to give up. Blocks for a bounded time; any thread.
        plugin: The plugin that it belongs to; "" for the user's own.
    """

    definition: CommandDef
    stands_for: str = ""
    run: Run = _does_nothing
    plugin: str = ""


class ShellRunner(Protocol):
    """Runs the user's shell commands."""

    def run(self, command: QuickCommand, given_up: Callable[[], bool] = ...) -> str:
        """Run a command and return its output. Blocks."""
        ...


def own_commands(section: Mapping[str, Any], shell: ShellRunner | None) -> list[AddedCommand]:
    """Return the user's commands.

    Args:
        section: ``quick_commands`` of config.yaml.
        shell: Runs the shell commands among them; None: they are left out.
    """
    return [
        _own(each, shell)
        for each in quick_commands(section).values()
        if each.kind == "alias" or shell is not None
    ]


def _own(command: QuickCommand, shell: ShellRunner | None) -> AddedCommand:
    if command.kind == "alias" or shell is None:
        return AddedCommand(command.definition(), stands_for=command.does.lstrip("/"))
    # What is typed after the command does not reach the shell.
    return AddedCommand(
        command.definition(), run=lambda _args, given_up: shell.run(command, given_up)
    )


def added_commands(own: Iterable[AddedCommand], table: CommandTable) -> dict[str, AddedCommand]:
    """Return the added commands by name, in the order of lists.

    Args:
        own: The user's commands.
        table: The commands of plugins.
    """
    found: dict[str, AddedCommand] = {}
    for each in (*own, *map(_of_plugin, table.all())):
        if resolve_command(each.definition.name) is None:
            found.setdefault(each.definition.name, each)
    return found


def _of_plugin(command: PluginCommand) -> AddedCommand:
    words = command.description or f"a command of the plugin {command.plugin}"
    definition = CommandDef(command.name, words.rstrip("."), "Added", args_hint=command.args_hint)
    return AddedCommand(definition, run=command.run, plugin=command.plugin)
