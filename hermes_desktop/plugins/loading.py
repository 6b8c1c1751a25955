"""Loading of approved plugins: all in parallel, each on its own thread, for a bounded time."""

import logging
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hermes_desktop.core.concurrency.time_bound import PendingCall
from hermes_desktop.plugins.commands import CommandTable
from hermes_desktop.plugins.context import PluginContext
from hermes_desktop.plugins.discovery import GROUP, Found
from hermes_desktop.plugins.hooks import HookRegistry
from hermes_desktop.plugins.snapshot_import import SnapshotModules

log = logging.getLogger(__name__)

LOAD_S = 10.0
_STREAMS = ("stdin", "stdout", "stderr")


@dataclass(slots=True)
class LoadedPlugin:
    """A plugin or event hook after it was run.

    Attributes:
        handler: ``handle`` of an event hook.
        hooks: The hooks that it registered for.
        commands: The commands that it added to chats.
        unsupported: The unsupported functions that it called.
        error: Why it is not used; "" if it is.
    """

    found: Found
    handler: Callable[[str, dict[str, Any]], Any] | None = None
    hooks: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    error: str = ""
    _undo: list[Callable[[], None]] = field(default_factory=list)

    def take_back(self) -> None:
        """Unregister everything it registered."""
        while self._undo:
            self._undo.pop()()

    def undo_with(self, undo: Callable[[], None]) -> None:
        """Add a function that :meth:`take_back` calls."""
        self._undo.append(undo)


class Loader:
    """Loads plugins into a registry of hooks and a table of commands.

    Args:
        registry: The registry for their callbacks.
        commands: The table for their commands.
        profile: The profile name passed to plugins.
        is_reserved: Returns whether a name is a command of the program.
        seconds: Time limit for loading all of them.
    """

    def __init__(
        self,
        registry: HookRegistry,
        commands: CommandTable,
        *,
        profile: str = "default",
        is_reserved: Callable[[str], bool] = lambda _name: False,
        seconds: float = LOAD_S,
    ) -> None:
        self._registry = registry
        self._commands = commands
        self._profile = profile
        self._is_reserved = is_reserved
        self._seconds = seconds

    def load(self, found: Sequence[Found]) -> list[LoadedPlugin]:
        """Run the plugins. Blocks for a bounded time; never raises because of one of them.

        Their registrations apply in the order given here. A plugin that failed or took too long has
        registered nothing, whatever it still does.
        """
        before = ProcessState()
        started = [self._start(each) for each in found]
        until = time.monotonic() + self._seconds
        done = [self._finish(loaded, context, call, until) for loaded, context, call in started]
        before.put_back()
        return done

    def _start(self, found: Found) -> tuple[LoadedPlugin, PluginContext, "PendingCall[Any]"]:
        context = PluginContext(found.name, found.version, found.description, self._profile)
        loaded = LoadedPlugin(found)
        run = partial(
            _import_handler if found.kind == "hook" else _register, found, loaded, context
        )
        return loaded, context, PendingCall(run, f"plugin-load {found.key}")

    def _finish(
        self, loaded: LoadedPlugin, context: PluginContext, call: "PendingCall[Any]", until: float
    ) -> LoadedPlugin:
        key = loaded.found.key
        try:
            loaded.handler = call.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            loaded.error = f"It took longer than {self._seconds:g} s to begin."
            log.error("The plugin %s is left behind: it did not begin in time", key)  # noqa: TRY400
        except BaseException as error:
            said = " ".join(str(error).split())[:300]
            loaded.error = f"{type(error).__name__}: {said}" if said else type(error).__name__
            log.warning("The plugin %s cannot be used", key, exc_info=error)
        hooks, commands = context.close()
        loaded.unsupported = list(context.unsupported)
        if loaded.error:
            loaded.take_back()
            return loaded
        for wish in hooks:
            undo = self._registry.register(wish.name, wish.callback, plugin=loaded.found.name)
            loaded.undo_with(undo)
            loaded.hooks.append(wish.name)
        for command in commands:
            try:
                if self._is_reserved(command.name):
                    raise ValueError(f"/{command.name} is a command of this program")  # noqa: TRY301
                loaded.undo_with(self._commands.add(command))
                loaded.commands.append(command.name)
            except ValueError as error:
                log.warning("%s: a command is left out: %s", loaded.found.name, error)
        log.info("The plugin %s is there: %s", key, ", ".join([*loaded.hooks, *loaded.commands]))
        return loaded


def _modules(found: Found, loaded: LoadedPlugin, kind: str, first: str) -> SnapshotModules:
    word = re.sub(r"\W", "_", found.name)
    root = f"hermes_desktop_{kind}_{word}_{found.contents.digest[:8]}"
    modules = SnapshotModules(
        root, found.path, found.contents.sources, owner=found.name, first=first
    )
    loaded.undo_with(modules.forget)
    return modules


def _register(found: Found, loaded: LoadedPlugin, context: PluginContext) -> None:
    """Import a plugin and call its ``register``; runs on its own thread."""
    register: Any
    if found.kind == "package":
        from importlib.metadata import EntryPoint  # noqa: PLC0415 - 4 MiB that few homes need

        register = EntryPoint(found.name, found.entry_point, GROUP).load()
        register = getattr(register, "register", register)
    else:
        register = getattr(
            _modules(found, loaded, "plugin", "__init__.py").load(), "register", None
        )
    if not callable(register):
        raise TypeError("it has no register(ctx)")
    register(context)


def _import_handler(found: Found, loaded: LoadedPlugin, _context: PluginContext) -> Any:
    """Import an event hook; runs on its own thread."""
    handle = getattr(_modules(found, loaded, "hook", "handler.py").load(), "handle", None)
    if not callable(handle):
        raise TypeError("handler.py has no handle(event_type, context)")
    return handle


class ProcessState:
    """A snapshot of process-wide state. Any thread, before and after plugins are run.

    What plugins remove while loading is restored. What they add stays: it is theirs to use, and
    they run with the rights of the program.
    """

    def __init__(self) -> None:
        self._path = list(sys.path)
        self._finders = list(sys.meta_path)
        self._streams = {name: getattr(sys, name) for name in _STREAMS}

    def put_back(self) -> tuple[str, ...]:
        """Restore what was removed, behind what was added; log and return the names."""
        found = {
            "sys.path": _put_back(sys.path, self._path),
            "sys.meta_path": _put_back(sys.meta_path, self._finders),
        }
        for name, stream in self._streams.items():
            found[f"sys.{name}"] = getattr(sys, name) is not stream
            setattr(sys, name, stream)
        words = tuple(name for name, gone in found.items() if gone)
        if words:
            log.warning("A plugin took away what belongs to all: %s; put back", ", ".join(words))
        return words


def _put_back(now: list[Any], before: list[Any]) -> bool:
    gone = [each for each in before if each not in now]
    now.extend(gone)
    return bool(gone)
