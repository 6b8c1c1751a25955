"""Starting with the login of a person, by whatever the system has for that. Blocking; any thread.

Nothing here keeps a state of its own: what the system's own file or entry says is what is so,
because people switch programs off there, too.
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


class LoginEntry(Protocol):
    """What the system starts at login for this home."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Files in which others may switch it on or off."""
        ...

    def is_on(self) -> bool:
        """Whether the program is started at login now; raises nothing."""
        ...

    def turn_on(self) -> None:
        """Have it started from the next login on. Raises :class:`HermesError`."""
        ...

    def turn_off(self) -> None:
        """Have it started no more; harmless when it is not. Raises :class:`HermesError`."""
        ...


@dataclass(frozen=True, slots=True)
class LoginCommand:
    """What is started.

    Attributes:
        name: Names the entry; each home has its own.
        words: Program and arguments.
        environment: What must be set for it.
    """

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def login_command(
    paths: HermesPaths, environ: Mapping[str, str], program: Sequence[str] | None = None
) -> LoginCommand:
    """How this program is started for a home, hidden.

    Args:
        paths: The home.
        environ: The process environment.
        program: How it is started without arguments; None: as it was found out.
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
    """What starts this program, in a way that outlives updates."""
    image = environ.get("APPIMAGE", "").strip()
    if image and Path(image).is_absolute():
        return (image,)
    if getattr(sys, "frozen", False):
        return (sys.executable,)
    script = Path(sys.argv[0]) if sys.argv else Path()
    if script.name == "hermes-desktop" and script.is_absolute() and os.access(script, os.X_OK):
        return (str(script),)
    found = shutil.which("hermes-desktop", path=environ.get("PATH"))
    return (str(Path(found).absolute()),) if found else (sys.executable, "-m", "hermes_desktop")


class NoEntry:
    """Where the program sees nothing that its system would look into.

    Args:
        why: A sentence.
    """

    files: tuple[Path, ...] = ()

    def __init__(self, why: str) -> None:
        self._why = why

    def is_on(self) -> bool:
        """Nobody here can know; said to be off."""
        return False

    def turn_on(self) -> None:
        """Raises :class:`RefusedError`."""
        raise RefusedError(
            "Starting at login cannot be set from here.",
            self._why,
            "Add Hermes to the programs that your desktop starts, in its own settings.",
        )

    def turn_off(self) -> None:
        """Do nothing: it was not turned on here."""


def cannot_write(place: str, error: OSError) -> HermesError:
    """The system's entry could not be changed."""
    return HermesError(
        "Starting at login could not be changed.",
        f"{place}: {error.strerror or type(error).__name__}.",
        "Check the rights of that place.",
    )
