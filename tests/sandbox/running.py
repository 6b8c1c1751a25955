"""Running one command at a level of the sandbox, without the assistant around it."""

from collections.abc import Sequence

from hermes_desktop.agent.sandbox.grants import Grant, Level
from hermes_desktop.agent.sandbox.launching import launch
from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.core.processes.child_process import Ended, run_bounded


def run_at(
    level: Level, command: Sequence[str], grant: Grant, homes: Homes, *, timeout_s: float
) -> tuple[Ended, frozenset[str]]:
    """Run a command in the folder of its grant; return its result and the refused hosts."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(homes.user)}
    with launch(command, grant, level, homes, environ=environ, cwd=grant.folder) as started:
        ended = run_bounded(
            started.argv,
            environ=started.environ,
            cwd=started.cwd,
            timeout_s=timeout_s,
            most_bytes=20_000,
            descriptors=started.descriptors,
        )
        return ended, started.denied()
