"""The user's own commands in ``hermes-desktop rpc``."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.commands.quick_commands import QuickCommand, QuickRunner, quick_commands
from hermes_desktop.services.agents.own_commands import own_commands, quick_runner
from hermes_desktop.tui_gateway.program import OwnCommand

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


def rpc_commands(
    paths: HermesPaths,
    environ: Mapping[str, str],
    clean: Callable[[str], str],
    running: RunningCommands,
) -> Sequence[OwnCommand]:
    """Return all valid commands, by the current settings. Blocking; any thread; never raises.

    Args:
        paths: The home.
        environ: The process environment; its secrets are passed to none of them.
        clean: Removes secrets from their output.
        running: Counts them, and signals when they should end.
    """
    section = own_commands(paths)
    if not section:
        return ()
    runner = quick_runner(paths, environ, clean)
    return [_own(each, runner, running) for each in quick_commands(section)]


def _own(command: QuickCommand, runner: QuickRunner, running: RunningCommands) -> OwnCommand:
    if command.kind == "alias":
        return OwnCommand(command.definition(), stands_for=command.does)
    return OwnCommand(command.definition(), run=partial(_run, runner, running, command))


def _run(
    runner: QuickRunner,
    running: RunningCommands,
    command: QuickCommand,
    _args: str,
    given_up: Callable[[], bool],
) -> str:
    """Run a command; its arguments are not passed to the shell."""
    with running.one():
        return runner.run(command, lambda: running.ending or given_up())
