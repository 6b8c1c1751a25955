"""What a plugin is handed to register itself with."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from hermes_desktop.plugins.commands import PluginCommand

log = logging.getLogger(__name__)

_OTHER_MEANS = frozenset({"dispatch_tool", "inject_message", "llm"})


@dataclass(frozen=True, slots=True)
class HookWish:
    """A callback that a plugin wants to be called."""

    name: str
    callback: Callable[..., Any]


class PluginContext:
    """The ``ctx`` of ``register(ctx)``: it only takes note; what was noted counts if all went well.

    What this version does not have yet is logged by name and changes nothing, so that the rest of
    the plugin still works.

    Args:
        name: The plugin.
        version: As it says.
        description: As it says.
        profile: The profile of the home.

    Attributes:
        manifest: ``name``, ``version`` and ``description``.
        profile_name: The profile.
        unsupported: What it asked for in vain.
    """

    def __init__(self, name: str, version: str, description: str, profile: str) -> None:
        self.manifest = SimpleNamespace(name=name, version=version, description=description)
        self.profile_name = profile
        self.unsupported: list[str] = []
        self._name = name
        self._lock = threading.Lock()
        self._closed = False
        self._hooks: list[HookWish] = []
        self._commands: list[PluginCommand] = []

    def register_hook(self, hook_name: str, callback: Callable[..., Any]) -> None:
        """Have a callback called for a hook, by name of each argument."""
        if not callable(callback):
            raise TypeError(f"the callback for {hook_name} cannot be called")
        self._note(self._hooks, HookWish(str(hook_name), callback))

    def register_command(
        self,
        name: str,
        handler: Callable[[str], Any],
        description: str = "",
        args_hint: str = "",
    ) -> None:
        """Add a command to chats; ``handler(what follows it)`` returns the answer."""
        if not callable(handler):
            raise TypeError(f"the handler of {name} cannot be called")
        plain = str(name).strip().lstrip("/").lower()
        line = " ".join(str(description).split())
        command = PluginCommand(plain, handler, line, str(args_hint), self._name)
        self._note(self._commands, command)

    def close(self) -> tuple[list[HookWish], list[PluginCommand]]:
        """Take no more; what was asked for."""
        with self._lock:
            self._closed = True
            return self._hooks, self._commands

    def _note(self, wishes: list[Any], wish: Any) -> None:
        with self._lock:
            if self._closed:
                raise RuntimeError("the time to register is over")
            wishes.append(wish)

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("register_") and name not in _OTHER_MEANS:
            raise AttributeError(name)

        def unsupported(*_: Any, **__: Any) -> None:
            if name not in self.unsupported:
                self.unsupported.append(name)
                log.warning("%s: %s is not supported in this version", self._name, name)

        return unsupported
