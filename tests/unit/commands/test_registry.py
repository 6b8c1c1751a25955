"""The list of commands, and the help made from it."""

import pytest

from hermes_desktop.commands.handlers import HANDLERS
from hermes_desktop.commands.registry import COMMANDS, available_commands, resolve_command


def test_every_name_means_one_command() -> None:
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))


def test_every_available_command_is_done_by_somebody_and_no_other() -> None:
    assert set(HANDLERS) == {command.name for command in available_commands()}


@pytest.mark.parametrize(
    ("typed", "name"),
    [("new", "new"), ("RESET", "new"), ("/fork", "branch"), ("q", "queue"), (" v ", "version"),
     ("set-home", "sethome"), ("bg", "background"), ("compact", "compress")],
)  # fmt: skip
def test_aliases_lead_to_the_command(typed: str, name: str) -> None:
    command = resolve_command(typed)
    assert command is not None
    assert command.name == name


def test_unknown_names() -> None:
    assert resolve_command("nothing") is None
    assert resolve_command("") is None


def test_a_line_of_help() -> None:
    command = resolve_command("branch")
    assert command is not None
    assert command.help_line("!") == "- `!branch [name]` — continue in a copy (also `!fork`)"


def test_what_is_not_there_yet_is_known_by_name() -> None:
    for name in ("goal", "voice", "topic"):
        command = resolve_command(name)
        assert command is not None
        assert not command.available
