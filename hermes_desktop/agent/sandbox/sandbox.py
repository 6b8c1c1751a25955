"""The sandbox of one agent: what works here, what each session may reach, what has to be asked."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from hermes_desktop.agent.sandbox.grants import Access, Grant, Hold, Level, SandboxStatus
from hermes_desktop.agent.sandbox.launching import Launch, launch
from hermes_desktop.agent.sandbox.own_places import Homes, is_grantable, is_within
from hermes_desktop.agent.sandbox.probe import probe
from hermes_desktop.agent.sandbox.session_grants import SessionGrants, widened


class Launcher(Protocol):
    """Prepares the start of a command, as ``launching.launch`` does."""

    def __call__(  # noqa: PLR0913 - what a start depends on
        self,
        argv: Sequence[str],
        grant: Grant,
        level: Level,
        homes: Homes,
        *,
        environ: Mapping[str, str],
        cwd: Path,
        lingers: bool = False,
    ) -> AbstractContextManager[Launch]:
        """Return the context in which the command may be started."""
        ...


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What tools ask before they start a program.

    Attributes:
        homes: The folders to protect.
        grant: Returns what the settings grant to a session, by its session id.
        granted: What the user has granted to sessions besides.
        kept: What the user has granted for always since this agent was made, whose settings are
            older.
        status: Returns what works on this computer now; cheap after the first call.
        launcher: Prepares the start.
    """

    homes: Homes
    grant: Callable[[str], Grant]
    status: Callable[[], SandboxStatus] = probe
    launcher: Launcher = launch
    granted: SessionGrants = field(default_factory=SessionGrants)
    kept: set[Access] = field(default_factory=set)

    def reach(self, session_id: str) -> Grant:
        """Return what every command of a session may reach at this moment. Blocking."""
        return widened(self.grant(session_id), (*self.kept, *self.granted.of(session_id)))

    def plan(self, session_id: str, cwd: Path, turn: object = None) -> "Plan":
        """Decide how a command will run, before anyone is asked. Blocking.

        Args:
            session_id: The session that starts it.
            cwd: Its working directory.
            turn: The turn, if it is a command that may use what was granted once.
        """
        grant, level = self.reach(session_id), self.status().level
        if turn is not None:
            grant = widened(grant, self.granted.take(session_id, turn))
        leaves = ""
        granted = [each.resolve() for each in (grant.folder, *grant.write)]
        real = cwd.resolve()
        if not any(is_within(real, each) for each in granted):
            leaves = "works outside the folder of this conversation"
            kept = {each for each in (grant.folder,) if is_grantable(each, self.homes)}
            grant = replace(grant, folder=cwd, write=grant.write | kept)
        if level is not Level.NONE and not is_grantable(grant.folder, self.homes):
            leaves = "works in a folder that holds more than one task needs, such as your home"
        doubt = " and ".join(filter(None, (_DOUBTS[level], leaves)))
        return Plan(self, grant, Hold(level, doubt, leaves=bool(leaves)), cwd)


@dataclass(frozen=True, slots=True)
class Plan:
    """How one command will run.

    Attributes:
        grant: What it may reach.
        hold: How firmly it will be held, for the question.
    """

    sandbox: Sandbox
    grant: Grant
    hold: Hold
    cwd: Path

    def open(
        self, argv: Sequence[str], environ: Mapping[str, str], *, lingers: bool = False
    ) -> AbstractContextManager[Launch]:
        """Return the context in which the command may be started. Entering it raises OSError."""
        grant, level, homes = self.grant, self.hold.level, self.sandbox.homes
        return self.sandbox.launcher(
            argv, grant, level, homes, environ=environ, cwd=self.cwd, lingers=lingers
        )

    def outside(self) -> "Plan":
        """Return the plan for the same command without a sandbox: only if the user chose that."""
        return replace(self, hold=Hold(Level.NONE, "runs outside the sandbox"))


_DOUBTS = {
    Level.CLOSED: "",
    Level.PARTLY_HELD: "runs in a sandbox that holds only files' contents and the network here",
    Level.NONE: "runs without a sandbox, which is not available here",
}
