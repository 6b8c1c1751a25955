"""A command group that imports a command's module only when the command is used."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

import click


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
        return cast(click.Command, getattr(import_module(module), name))
