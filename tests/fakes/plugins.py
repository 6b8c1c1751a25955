"""Plugins and event hooks that record their calls, and those that misbehave."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop import plugins

BOUNDARIES = ("on_session_finalize", "on_session_reset")


@dataclass
class EventHooks:
    """The event hooks of the gateway."""

    heard: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def emit(self, event_type: str, context: dict[str, Any]) -> None:
        self.heard.append((event_type, context))

    def names(self) -> list[str]:
        return [name for name, _ in self.heard]


@dataclass
class HeardHooks:
    """The calls of plugin hooks: name, arguments, and the current boundary reason."""

    calls: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)

    def brief(self) -> list[tuple[str, str]]:
        return [(name, kwargs["session_id"]) for name, kwargs, _ in self.calls]

    def reasons(self) -> list[str]:
        return [reason for _, _, reason in self.calls]


@contextlib.contextmanager
def listening(*names: str) -> Iterator[HeardHooks]:
    """Register a plugin for these hooks, by default for the boundaries, during the block."""
    heard = HeardHooks()

    def listener(name: str) -> Callable[..., None]:
        def hear(**kwargs: Any) -> None:
            heard.calls.append((name, kwargs, plugins.boundary_reason()))

        return hear

    with contextlib.ExitStack() as stack:
        for name in names or BOUNDARIES:
            stack.callback(plugins.register_hook(name, listener(name), plugin="listener"))
        yield heard


@contextlib.contextmanager
def registered(name: str, callback: Callable[..., Any]) -> Iterator[None]:
    """Register a plugin with one callback during the block."""
    take_back = plugins.register_hook(name, callback, plugin="a test")
    try:
        yield
    finally:
        take_back()
