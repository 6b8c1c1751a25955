"""Loading of approved plugins: all in parallel, each on its own thread, for a bounded time.

The code that the user approved is the code that runs: modules are imported from a snapshot of the
folder. Even if the folder changes while they load, no compiled file in it is loaded in their
place.
"""

import logging
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from typing_extensions import override

from hermes_desktop.core.concurrency.time_bound import PendingCall
from hermes_desktop.plugins.commands import CommandTable
from hermes_desktop.plugins.context import PluginContext
from hermes_desktop.plugins.discovery import GROUP, Found
from hermes_desktop.plugins.hooks import HookRegistry

log = logging.getLogger(__name__)


class SnapshotModules(MetaPathFinder, InspectLoader):
    """The modules of one plugin, under a unique package name.

    Args:
        root: Name of the package, or of the only module.
        folder: The folder that was read, for tracebacks and ``__file__``.
        sources: Python files by path inside the folder.
        first: The file of the root module.
        owner: The plugin's name, for the log lines written by ``print``.
    """

    def __init__(
        self,
        root: str,
        folder: Path,
        sources: Mapping[str, bytes],
        *,
        owner: str,
        first: str = "__init__.py",
    ) -> None:
        self._root = root
        self._folder = folder
        self._sources = sources
        self._owner = owner
        self._first = first

    def load(self) -> ModuleType:
        """Import the root. Runs the plugin's code and raises whatever it raises."""
        sys.meta_path.insert(0, self)
        spec = self.find_spec(self._root)
        assert spec is not None  # noqa: S101 - the root is known
        module = module_from_spec(spec)
        sys.modules[self._root] = module
        self.exec_module(module)
        return module

    def forget(self) -> None:
        """Make its modules unavailable for import; existing references stay valid."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        inside = [n for n in sys.modules if n == self._root or n.startswith(f"{self._root}.")]
        for name in inside:
            sys.modules.pop(name, None)

    @override
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        file = self._file_of(fullname)
        if file is None:
            return None
        is_package = file.endswith("__init__.py")
        spec = spec_from_loader(
            fullname, self, origin=str(self._folder / file), is_package=is_package
        )
        if spec is not None:
            spec.has_location = True
            if is_package:
                spec.submodule_search_locations = []  # nothing is searched on disk
        return spec

    @override
    def get_source(self, fullname: str) -> str | None:
        file = self._file_of(fullname)
        return None if file is None else self._sources[file].decode("utf-8", "replace")

    @override
    def get_code(self, fullname: str) -> CodeType | None:
        file = self._file_of(fullname)
        if file is None:
            return None
        return compile(self._sources[file], str(self._folder / file), "exec", dont_inherit=True)

    @override
    def is_package(self, fullname: str) -> bool:
        return (self._file_of(fullname) or "").endswith("__init__.py")

    @override
    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["print"] = self._print  # standard output belongs to the program
        super().exec_module(module)

    def _print(self, *words: Any, sep: str | None = " ", **_: Any) -> None:
        log.info("%s says: %s", self._owner, (" " if sep is None else sep).join(map(str, words)))

    def _file_of(self, fullname: str) -> str | None:
        if fullname == self._root:
            return self._first
        if not fullname.startswith(f"{self._root}."):
            return None
        path = fullname.removeprefix(f"{self._root}.").replace(".", "/")
        return next(
            (each for each in (f"{path}.py", f"{path}/__init__.py") if each in self._sources), None
        )


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
            loaded.error = f"It took longer than {self._seconds:g} s to load."
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

    What plugins remove while loading is restored. What they add stays: they may use it, and they
    run with the rights of the program.
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
            log.warning(
                "A plugin removed shared entries, which were restored: %s", ", ".join(words)
            )
        return words


def _put_back(now: list[Any], before: list[Any]) -> bool:
    gone = [each for each in before if each not in now]
    now.extend(gone)
    return bool(gone)
