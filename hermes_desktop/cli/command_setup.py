"""Set-up of commands: the option for the home, and groups that import a command when it is used."""

import functools
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar, cast

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
        paths = resolve_paths(os.environ, chosen_profile(profile))
        return command(*args, paths=paths, **kwargs)

    return wrapped  # type: ignore[return-value]  # the decorator adds a keyword


def chosen_profile(profile: str | None) -> str | None:
    """Return the profile given to the command, or else before its name; None for neither."""
    root = click.get_current_context().find_root()
    return root.params.get("profile") if profile is None else profile


class LazyGroup(click.Group):
    """A group with lazy imports, so that listing sessions does not load the code for an export.

    Args:
        places: Module and name of each command's object, by command.
    """

    def __init__(self, *args: Any, places: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names, for the help page."""
        return sorted({*super().list_commands(ctx), *self._places})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command; return None for an unknown name."""
        if cmd_name not in self._places:
            return super().get_command(ctx, cmd_name)
        module, name = self._places[cmd_name]
        return cast("click.Command", getattr(import_module(module), name))
