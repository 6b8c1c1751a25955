"""Plugin hooks: the process-wide registry of callbacks, and functions to call them.

:func:`invoke_hook` is looked up in this module at every call, so that a caller, a test or a plugin
may replace it. A process has one registry and one table of commands, because it has one set of
plugins.
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
    """Call all callbacks of a hook in the order of registration, one after the other. May block.

    A callback that raises is logged and does not affect the others.

    Args:
        name: See :data:`hermes_desktop.plugins.hooks.HOOKS`.
        kwargs: The arguments of the hook.

    Returns:
        The return values of the callbacks, without None.
    """
    return REGISTRY.invoke(name, kwargs)


def register_hook(
    name: str, callback: Callable[..., Any], *, plugin: str = ""
) -> Callable[[], None]:
    """Register a callback for a hook; see :meth:`HookRegistry.register`."""
    return REGISTRY.register(name, callback, plugin=plugin)


def has_callbacks(name: str) -> bool:
    """Return whether a hook has callbacks that would be called."""
    return REGISTRY.has(name)
