"""Start at login, by whatever mechanism the system has. Blocking; may be called on any thread.

Nothing here keeps state: the system's own file or entry is authoritative, because users switch
programs off there, too.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hermes_desktop.core.errors import HermesError, RefusedError
from hermes_desktop.core.paths import HermesPaths, default_root
from hermes_desktop.core.processes.app_image import own_app_image


class LoginEntry(Protocol):
    """The system's entry that starts this home's program at login."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Files in which the entry may also be switched on or off from outside."""
        ...

    def is_on(self) -> bool:
        """Return whether the program is started at login now; raises nothing."""
        ...

    def turn_on(self) -> None:
        """Start the program from the next login on. Raises :class:`HermesError`."""
        ...

    def turn_off(self) -> None:
        """Stop starting the program at login; harmless when off. Raises :class:`HermesError`."""
        ...


@dataclass(frozen=True, slots=True)
class LoginCommand:
    """The command to start.

    Attributes:
        name: Name of the entry; each home has its own.
        words: Program and arguments.
        environment: The environment variables it needs.
    """

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def login_command(
    paths: HermesPaths, environ: Mapping[str, str], program: Sequence[str] | None = None
) -> LoginCommand:
    """Return the command that starts this program for a home with its window hidden.

    Args:
        paths: The home.
        environ: The process environment.
        program: The command without arguments; None: detected.
    """
    words = [*(this_program(environ) if program is None else program), "--hidden"]
    if paths.home == default_root(environ):
        return LoginCommand("hermes-desktop", tuple(words))
    if paths.profile not in {"default", "custom"} and paths.root == default_root(environ):
        return LoginCommand(
            f"hermes-desktop-{paths.profile}", (*words[:-1], "--profile", paths.profile, words[-1])
        )
    name = "".join(sign if sign.isalnum() else "-" for sign in str(paths.home)).strip("-").lower()
    return LoginCommand(
        f"hermes-desktop-{name[-80:]}", tuple(words), {"HERMES_HOME": str(paths.home)}
    )


def this_program(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command that starts this program, in a form that survives updates."""
    if image := own_app_image(environ, sys.executable):
        return (image,)
    if getattr(sys, "frozen", False):
        return (sys.executable,)
    script = Path(sys.argv[0]) if sys.argv else Path()
    if script.name == "hermes-desktop" and script.is_absolute() and os.access(script, os.X_OK):
        return (str(script),)
    found = shutil.which("hermes-desktop", path=environ.get("PATH"))
    return (str(Path(found).absolute()),) if found else (sys.executable, "-m", "hermes_desktop")


class UnavailableEntry:
    """Entry for environments, such as a sandbox, from which the system's entries cannot be reached.

    Args:
        why: The reason, one sentence.
    """

    files: tuple[Path, ...] = ()

    def __init__(self, why: str) -> None:
        self._why = why

    def is_on(self) -> bool:
        """Return False, because the state cannot be determined."""
        return False

    def turn_on(self) -> None:
        """Raise :class:`RefusedError`."""
        raise RefusedError(
            "Start at login cannot be changed from here.",
            self._why,
            "Add Hermes to the programs that start at login in the settings of your desktop.",
        )

    def turn_off(self) -> None:
        """Do nothing, because it was not turned on here."""


def cannot_write(place: str, error: OSError) -> HermesError:
    """Return the error for an entry of the system that could not be changed."""
    return HermesError(
        "Start at login could not be changed.",
        f"{place}: {error.strerror or type(error).__name__}.",
        "Check the permissions.",
    )
