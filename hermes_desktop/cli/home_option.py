"""The option that selects the home of a command."""

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from hermes_desktop.core.paths import resolve_paths

Command = TypeVar("Command", bound=Callable[..., Any])

profile_option = click.option(
    "--profile",
    "-p",
    metavar="NAME",
    help="Use this profile instead of the active one.",
)


def with_home(command: Command) -> Command:
    """Add ``--profile`` to a command and call it with ``paths``.

    The option may come before or after the command's name, as in ``hermes``; the one nearer to the
    command takes precedence.
    """

    @profile_option
    @functools.wraps(command)
    def wrapped(*args: Any, profile: str | None, **kwargs: Any) -> Any:
        if profile is None:
            root = click.get_current_context().find_root()
            profile = root.params.get("profile")
        return command(*args, paths=resolve_paths(os.environ, profile), **kwargs)

    return wrapped  # type: ignore[return-value]  # the decorator adds a keyword
