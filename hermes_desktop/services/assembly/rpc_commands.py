"""The user's own commands in ``hermes-desktop rpc``."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hermes_desktop.commands.added_commands import AddedCommand, own_commands
from hermes_desktop.commands.quick_commands import QuickCommand, QuickRunner
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.own_commands import quick_runner, quick_section

_ENDING_S = 0.5


class RunningCommands:
    """Tracks running commands, so that none outlives the program. Any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ending = False
        self._running = 0

    @property
    def ending(self) -> bool:
        """Whether the commands should end."""
        return self._ending

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Count one command as running while the context is active."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Request the end of all commands; waits a moment for it."""
        with self._changed:
            self._ending = True
            self._changed.wait_for(lambda: not self._running, _ENDING_S)


@dataclass(frozen=True, slots=True)
class _CountedRunner:
    """Runs shell commands that are counted, and end with the program."""

    runner: QuickRunner
    running: RunningCommands

    def run(self, command: QuickCommand, given_up: Callable[[], bool] = lambda: False) -> str:
        with self.running.one():
            return self.runner.run(command, lambda: self.running.ending or given_up())


def rpc_commands(
    paths: HermesPaths,
    environ: Mapping[str, str],
    clean: Callable[[str], str],
    running: RunningCommands,
) -> Sequence[AddedCommand]:
    """Return all valid commands, by the current settings. Blocking; any thread; never raises.

    Args:
        paths: The home.
        environ: The process environment; its secrets are passed to none of them.
        clean: Removes secrets from their output.
        running: Counts them, and signals when they should end.
    """
    section = quick_section(paths)
    if not section:
        return ()
    runner = _CountedRunner(quick_runner(paths, environ, clean), running)
    return own_commands(section, runner)
