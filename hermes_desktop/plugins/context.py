"""The context object with which a plugin registers its hooks and commands."""

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
class HookRegistration:
    """A callback that a plugin wants to register."""

    name: str
    callback: Callable[..., Any]


class PluginContext:
    """The ``ctx`` of ``register(ctx)``: records registrations, which apply if loading succeeds.

    Unsupported registrations are logged by name and ignored, so that the rest of the plugin still
    works.

    Args:
        name: The plugin's name.
        version: The plugin's version, as declared.
        description: The plugin's description, as declared.
        profile: The profile of the home.

    Attributes:
        manifest: ``name``, ``version`` and ``description``.
        profile_name: The profile.
        unsupported: The unsupported functions that the plugin called.
    """

    def __init__(self, name: str, version: str, description: str, profile: str) -> None:
        self.manifest = SimpleNamespace(name=name, version=version, description=description)
        self.profile_name = profile
        self.unsupported: list[str] = []
        self._name = name
        self._lock = threading.Lock()
        self._closed = False
        self._hooks: list[HookRegistration] = []
        self._commands: list[PluginCommand] = []

    def register_hook(self, hook_name: str, callback: Callable[..., Any]) -> None:
        """Register a callback for a hook; it is called with keyword arguments."""
        if not callable(callback):
            raise TypeError(f"the callback for {hook_name} cannot be called")
        self._note(self._hooks, HookRegistration(str(hook_name), callback))

    def register_command(
        self,
        name: str,
        handler: Callable[[str], Any],
        description: str = "",
        args_hint: str = "",
    ) -> None:
        """Add a command to chats; ``handler(text after the command)`` returns the answer."""
        if not callable(handler):
            raise TypeError(f"the handler of {name} cannot be called")
        plain = str(name).strip().lstrip("/").lower()
        line = " ".join(str(description).split())
        command = PluginCommand(plain, handler, line, str(args_hint), self._name)
        self._note(self._commands, command)

    def close(self) -> tuple[list[HookRegistration], list[PluginCommand]]:
        """Accept no more registrations, and return those recorded."""
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
