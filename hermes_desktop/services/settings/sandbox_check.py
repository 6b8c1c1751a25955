"""The user's view of which sandbox for commands works on this computer."""

from dataclasses import dataclass
from typing import Protocol

from hermes_desktop.agent.sandbox.grants import Level, SandboxStatus
from hermes_desktop.agent.sandbox.probe import probe
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads

__all__ = ["Level", "SandboxCheck", "SandboxStatus", "SandboxView", "check_sandbox", "sandbox_view"]


@dataclass(frozen=True, slots=True)
class SandboxView:
    """The result of the check, for display.

    Attributes:
        level: ``A``, ``B`` or ``C``.
        title: What works, in a few words.
        meaning: What that means for commands, in sentences.
        error: The exact error of what does not work; "" at level A.
        remedy: What the user can do about it, as a sentence; "" if nothing helps.
        command: The command of the remedy, to be copied; "" for none.
    """

    level: str
    title: str
    meaning: str
    error: str = ""
    remedy: str = ""
    command: str = ""


_TITLES = {
    Level.CLOSED: "Closed sandbox",
    Level.PARTLY_HELD: "Partial sandbox",
    Level.NONE: "No sandbox",
}
_MEANINGS = {
    Level.CLOSED: "A command in the sandbox sees only its folder, the system and your toolchains. "
    "It has no network until you allow a host.",
    Level.PARTLY_HELD: "A command in the sandbox cannot read or change files outside its folder, "
    "and has no network. It can still change permissions and times of files anywhere, and see "
    "which programs run.",
    Level.NONE: "No sandbox works here, so every command needs your approval, unless the sandbox "
    "is switched off below.",
}


def sandbox_view(status: SandboxStatus) -> SandboxView:
    """Return the result of the probe in words."""
    remedy, colon, command = status.remedy.partition(": ")
    if not colon or not command.startswith("sudo "):
        remedy, command = status.remedy, ""
    sentence = f"{remedy}:" if command else remedy
    level = status.level
    words = _TITLES[level], _MEANINGS[level]
    return SandboxView(level.value, *words, status.error, sentence, command)


def check_sandbox() -> SandboxView:
    """Find out what works here. Blocking: runs a short command at each level."""
    return sandbox_view(probe())


class Probe(Protocol):
    """Finds out what works, as ``agent.sandbox.probe.probe`` does. Blocking; any thread."""

    def __call__(self, *, fresh: bool = False) -> SandboxStatus:
        """Return what works; ``fresh``: find out again."""
        ...


class SandboxCheck:
    """Finds out what works, off the event loop.

    Args:
        find: The probe.
    """

    def __init__(self, find: Probe = probe) -> None:
        self._find = find
        self._worker = WorkerThreads("sandbox-probe")

    async def look(self, *, fresh: bool = False) -> SandboxView:
        """Return what works here.

        Args:
            fresh: Find out again, because something was installed or changed.
        """
        return sandbox_view(await self._worker.run(lambda: self._find(fresh=fresh)))

    def close(self) -> None:
        """Stop the thread."""
        self._worker.close()
