"""The places that no grant covers: the files of Hermes, keys, and files that start programs."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Grant
from hermes_desktop.core.files.secret_places import hidden_in_home

_WHOLE = (".", ".config", ".local", ".local/share", ".cache")
"""Folders of a home that hold too much to be granted as a whole."""
_SHARED = ("/home", "/tmp", "/var", "/var/tmp", "/mnt", "/media")  # noqa: S108 - refused here
_SYSTEM = ("/proc", "/sys", "/dev", "/run", "/etc", "/boot")
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - looked into, never written to
_SOCKETS = (".X11-unix", ".ICE-unix", ".XIM-unix", "ssh-", "tmux-", "dbus-", "systemd-private-")
"""Beginnings of names in temporary folders below which programs outside listen."""


@dataclass(frozen=True, slots=True)
class Homes:
    """The folders that the sandbox protects and uses.

    Attributes:
        user: The user's home folder.
        hermes: The Hermes home.
    """

    user: Path
    hermes: Path

    @property
    def state(self) -> Path:
        """The folder of the sandbox's own files, such as private caches."""
        return self.hermes / "desktop" / "sandbox"

    def never_granted(self) -> tuple[Path, ...]:
        """Return the files and folders that are hidden even where they lie in a granted folder."""
        return tuple(Path(each) for each in self.never_granted_names())

    def never_granted_names(self) -> Iterable[str]:
        """Return the same as text: it is needed at every start of a command."""
        real_folders: dict[str, str] = {}
        user = str(self.user)
        found = (str(self.hermes), *(f"{user}/{each}" for each in hidden_in_home()))
        both = ((each, _real(each, real_folders)) for each in found)
        return dict.fromkeys(name for each in both for name in each)


def is_too_wide(folder: Path, homes: Homes) -> bool:
    """Return whether a folder holds a home or all of a disk, so that granting it protects little.

    Args:
        folder: The folder to grant.
        homes: The homes.
    """
    real = _resolved(folder)
    whole = {_resolved(homes.user / each) for each in _WHOLE} | {_resolved(homes.hermes)}
    whole |= {Path(each) for each in _SHARED}
    return any(is_within(each, real) for each in whole)


def why_refused(path: Path, homes: Homes) -> str:
    """Return why a file or folder may not be granted, by whomever, as a sentence; "" if it may."""
    real = _resolved(path)
    if any(is_within(real, Path(each)) for each in _SYSTEM) or _holds_sockets(real):
        return "It belongs to the system."
    if any(is_within(real, each) for each in (homes.hermes, _resolved(homes.hermes))):
        return "It holds the settings, keys and conversations of Hermes."
    if is_too_wide(real, homes):
        return "It holds far more than one task needs. Name the one file or folder that is needed."
    if any(is_within(real, each) for each in homes.never_granted()):
        return "Keys, passwords or programs that start automatically are kept there."
    return ""


def is_grantable(path: Path, homes: Homes) -> bool:
    """Return whether a file or folder may be granted at all, by whomever."""
    return not why_refused(path, homes)


def refused(grant: Grant, homes: Homes) -> tuple[Path, ...]:
    """Return the paths of a grant that may not be granted."""
    asked = sorted(grant.read | grant.write)
    return tuple(each for each in asked if not is_grantable(each, homes))


def is_within(path: Path | str, folder: Path | str) -> bool:
    """Return whether an absolute path is a folder, or lies below it."""
    below = str(folder).rstrip("/") + "/"
    return f"{path}/".startswith(below)


def _resolved(path: Path) -> Path:
    """Return a path without links; links that lead in a circle stay, and are no error."""
    return Path(os.path.realpath(path))


def _real(path: str, real_folders: dict[str, str]) -> str:
    """Return a path without links; most names share few folders, so these are resolved once.

    Args:
        path: An absolute path, which need not exist.
        real_folders: The folders resolved so far; added to.
    """
    folder, name = os.path.split(path)
    real = real_folders.get(folder)
    if real is None:
        real = real_folders[folder] = os.path.realpath(folder)
    if os.path.islink(path):  # noqa: PTH114 - paths as objects cost ten times as much here
        return os.path.realpath(path)
    return f"{real.rstrip('/')}/{name}"


def _holds_sockets(path: Path) -> bool:
    """Return whether programs outside listen below a path in a temporary folder."""
    found = (Path(each) for each in _TEMPORARY if Path(each) in path.parents)
    return any(path.relative_to(each).parts[0].startswith(_SOCKETS) for each in found)
