"""Lifecycle of the plugins of a home in one program: load at the start, report failures, close."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from hermes_desktop import plugins
from hermes_desktop.commands.registry import resolve_command
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.time_bound import PendingCall
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.runner.hooks import EventHookSet
from hermes_desktop.plugins.hooks import HookRegistry
from hermes_desktop.plugins.loading import LOAD_S, LoadedPlugin, Loader
from hermes_desktop.plugins.shell_hooks import ShellHook, ShellHookCall
from hermes_desktop.services.agents.plugin_survey import PluginEntry, PluginSurvey

log = logging.getLogger(__name__)

_ENDING_S = 0.5
_LOOK_AGAIN = "Review it with `hermes-desktop plugins enable {key}`."


class PluginManager:
    """The plugins of one program. Loaded once; what is enabled later applies at the next start.

    Args:
        paths: The home.
        environ: The process environment, which the user's shell hooks receive without its secrets.
        redactor: Removes secrets from what they receive.
        clock: The clock that dates answers.
        registry: The registry for the callbacks.
        commands: The table for the commands.
        seconds: Time limit for loading all of them.
    """

    def __init__(  # noqa: PLR0913 - what surrounds them
        self,
        paths: HermesPaths,
        *,
        environ: Mapping[str, str],
        redactor: SecretRedactor,
        clock: Clock,
        registry: HookRegistry = plugins.REGISTRY,
        commands: plugins.CommandTable = plugins.COMMANDS,
        seconds: float = LOAD_S,
    ) -> None:
        self._paths = paths
        self._environ = environ
        self._redactor = redactor
        self._registry = registry
        self._commands = commands
        self._seconds = seconds
        self._survey = PluginSurvey(paths, clock)
        self._lock = threading.Lock()
        self._closed = False
        self._loaded: list[LoadedPlugin] = []
        self._undo: list[Callable[[], None]] = []
        self._loading: asyncio.Future[None] | None = None
        self._ending = threading.Event()
        self._programs_lock = threading.Lock()
        self._programs = 0
        self._no_program = threading.Event()
        self._no_program.set()

    # On a thread that may block

    def load(self, tell: Callable[[Notice], None] = lambda _notice: None) -> list[LoadedPlugin]:
        """Run what is enabled. Blocks for a bounded time; never raises because of a plugin.

        Args:
            tell: Receives notices for the user, on this thread.

        Returns:
            What was run, and the outcome.
        """
        try:
            survey = self._survey.look_at_answered()
        except ConfigError as error:
            log.warning("No plugin is loaded: %s", error)
            tell(Notice("warning", error.title, error.detail, error.hint, key="plugins"))
            return []
        for warning in survey.warnings:
            log.warning("%s", warning)
        for entry in survey.entries:
            if entry.standing == "changed":
                log.warning("%s was changed since it was enabled and is not loaded", entry.key)
                tell(_changed(entry))
        ready = [each for each in survey.entries if each.runs]
        loaded = self._run(ready)
        for each in loaded:
            if each.error:
                tell(_failed(each))
        broken = [each for each in survey.entries if each.standing == "not usable"]
        for entry in broken:
            log.warning("%s is enabled and cannot be used: %s", entry.key, entry.reason)
            tell(_unusable(entry))
        self._keep(loaded, [each for each in ready if each.shell is not None])
        return loaded

    def _run(self, entries: list[PluginEntry]) -> list[LoadedPlugin]:
        loader = Loader(
            self._registry,
            self._commands,
            profile=self._paths.profile,
            is_reserved=lambda name: resolve_command(name) is not None,
            seconds=self._seconds,
        )
        return loader.load([each.found for each in entries if each.found is not None])

    def _keep(self, loaded: list[LoadedPlugin], shells: list[PluginEntry]) -> None:
        with self._lock:
            if self._closed:  # closed in the meantime
                for each in loaded:
                    each.take_back()
                return
            self._loaded = loaded
            self._undo = [each.take_back for each in loaded]
            for entry in shells:
                hook = entry.shell
                assert hook is not None  # noqa: S101 - they were chosen so
                self._undo.append(self._register_shell(hook, entry.digests))

    def _register_shell(
        self, hook: ShellHook, agreed: Mapping[str, str] | None
    ) -> Callable[[], None]:
        call = ShellHookCall(
            hook, self._environ, self._paths.home, self._redactor.clean, self._ending.is_set, agreed
        )

        def counted(**given: Any) -> Any:
            with self._programs_lock:
                self._programs += 1
                self._no_program.clear()
            try:
                return call(**given)
            finally:
                with self._programs_lock:
                    self._programs -= 1
                    if not self._programs:
                        self._no_program.set()

        counted.__qualname__ = call.__qualname__
        return self._registry.register(hook.event, counted, plugin=hook.key, limit_s=hook.timeout_s)

    def close(self) -> None:
        """Unregister all callbacks, and end shell hooks that still run.

        Any thread; waits a moment where there are such processes.
        """
        self._ending.set()
        self._no_program.wait(_ENDING_S)
        with self._lock:
            self._closed = True
            self._registry.report = None
            while self._undo:
                self._undo.pop()()
            self._loaded = []

    # On the event loop

    def open(self, bus: EventBus) -> None:
        """Start loading the plugins off the loop; :meth:`ready` waits for that.

        Args:
            bus: The event bus for notices about plugins that were changed or do not work.
        """
        loop = asyncio.get_running_loop()
        ready = self._loading = loop.create_future()

        def on_loop(call: Callable[..., Any], *args: Any) -> None:
            try:
                loop.call_soon_threadsafe(call, *args)
            except RuntimeError:  # the loop is closed, so there is no receiver
                log.debug("A program ended before its plugins were loaded")

        def tell(notice: Notice) -> None:
            on_loop(bus.publish, notice)

        def work() -> None:
            try:
                self.load(tell)
            except Exception:
                log.exception("Loading plugins failed")
            on_loop(_settle, ready)

        self._registry.report = lambda words: tell(_switched_off(words))
        PendingCall(work, "plugins")

    async def ready(self) -> None:
        """Wait until they are loaded, for a bounded time; return if loading never began."""
        if self._loading is not None:
            await asyncio.shield(self._loading)

    def event_hooks(self) -> EventHookSet | None:
        """Return the event hooks for one run of the gateway; None when there are none."""
        handlers = [each for each in self._loaded if each.handler is not None]
        if not handlers:
            return None
        registry = HookRegistry(known=None)
        registry.report = self._registry.report
        hooks = EventHookSet(registry)
        for each in handlers:
            found = each.found
            assert each.handler is not None  # noqa: S101 - they were chosen so
            facts = {"description": found.description, "path": str(found.path)}
            hooks.add(found.name, found.hooks, each.handler, **facts)
        return hooks


def _settle(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


def _changed(entry: PluginEntry) -> Notice:
    what = ", ".join(entry.changed[:5]) or "its place"
    return Notice(
        "warning",
        f"{_called(entry)} was changed since it was enabled and is not run.",
        f"Changed: {what}." + (" And others." if len(entry.changed) > 5 else ""),  # noqa: PLR2004
        _LOOK_AGAIN.format(key=entry.key),
        key=f"plugin:{entry.key}",
    )


def _unusable(entry: PluginEntry) -> Notice:
    return Notice(
        "warning",
        f"{_called(entry)} cannot be used.",
        entry.reason,
        f"Fix it, or run `hermes-desktop plugins disable {entry.key}`.",
        key=f"plugin:{entry.key}",
    )


def _failed(loaded: LoadedPlugin) -> Notice:
    key = loaded.found.key
    return Notice(
        "warning",
        f"The plugin “{loaded.found.name}” failed and is not running.",
        loaded.error,
        f"See the log for details. To disable it, run `hermes-desktop plugins disable {key}`.",
        key=f"plugin:{key}",
    )


def _switched_off(words: str) -> Notice:
    return Notice("warning", "A plugin was too slow and was turned off.", f"{words}.")


def _called(entry: PluginEntry) -> str:
    kinds = {"hook": "event hook", "shell": "shell hook for"}
    return f"The {kinds.get(entry.kind, 'plugin')} “{entry.name}”"
