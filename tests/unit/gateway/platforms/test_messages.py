"""Commands in messages."""

import pytest

from hermes_desktop.gateway.platforms.base import MessageEvent


@pytest.mark.parametrize(
    ("text", "command", "args"),
    [
        ("/x a—b –c", "x", "a--b -c"),
        ("/New@Bot hi", "new", "hi"),
        ("/new\nline two", "new", "line two"),
        ("/new  two  spaces ", "new", "two  spaces"),
        ("/usr/bin ls", None, "ls"),
        ("//", None, ""),
        ("/", None, ""),
        ("/ x", None, "x"),
        ("/x@", "x", ""),
        ("hi", None, "hi"),
        (" /new x", None, " /new x"),
    ],
)
def test_commands(text: str, command: str | None, args: str) -> None:
    event = MessageEvent(text)
    assert event.is_command() == text.startswith("/")
    assert event.get_command() == command
    assert event.get_command_args() == args
