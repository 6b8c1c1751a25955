"""What other people's code hears of: callbacks by the name of a hook, and how they are called.

:func:`invoke_hook` is looked up here whenever it is called, so that a caller, a test or a plugin
may put another one in its place. There is one registry, and one table of commands, in a process,
because there is one set of plugins in it.
"""

from collections.abc import Callable
from typing import Any, Final

from hermes_desktop.plugins.commands import CommandTable
from hermes_desktop.plugins.hooks import SLOW_CALLBACK_S, HookRegistry, boundary_reason

__all__ = [
    "COMMANDS",
    "REGISTRY",
    "SLOW_CALLBACK_S",
    "CommandTable",
    "HookRegistry",
    "boundary_reason",
    "has_callbacks",
    "invoke_hook",
    "register_hook",
]

REGISTRY: Final = HookRegistry()
COMMANDS: Final = CommandTable()
"""The commands that plugins add to chats."""


def invoke_hook(name: str, **kwargs: Any) -> list[Any]:
    """Call everybody who registered for a hook, in that order, one after the other. May block.

    A callback that raises is logged and hurts nobody else.

    Args:
        name: See :data:`hermes_desktop.plugins.hooks.HOOKS`.
        kwargs: What the hook carries.

    Returns:
        What the callbacks returned, without None.
    """
    return REGISTRY.invoke(name, kwargs)


def register_hook(
    name: str, callback: Callable[..., Any], *, plugin: str = ""
) -> Callable[[], None]:
    """Have a callback called for a hook; see :meth:`HookRegistry.register`."""
    return REGISTRY.register(name, callback, plugin=plugin)


def has_callbacks(name: str) -> bool:
    """Whether anybody would be called."""
    return REGISTRY.has(name)
