"""The places that no grant covers: the files of Hermes, keys, and what starts by itself."""

from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Grant
from hermes_desktop.core.files.secret_places import hidden_in_home

_WHOLE = (".", ".config", ".local", ".local/share", ".cache")
"""Folders of a home that hold too much to be granted as a whole."""


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
        found = (self.hermes, *(self.user / each for each in hidden_in_home()))
        return tuple(dict.fromkeys(path for each in found for path in (each, each.resolve())))


def is_too_wide(folder: Path, homes: Homes) -> bool:
    """Return whether a folder holds a home or all of a disk, so that granting it protects little.

    Args:
        folder: The folder to grant.
        homes: The homes.
    """
    real = folder.resolve()
    whole = {(homes.user / each).resolve() for each in _WHOLE} | {homes.hermes.resolve()}
    return any(real == each or real in each.parents for each in whole)


def is_grantable(path: Path, homes: Homes) -> bool:
    """Return whether a file or folder may be granted at all, by whomever."""
    real = path.resolve()
    system = any(
        real == Path(each) or Path(each) in real.parents
        for each in ("/proc", "/sys", "/dev", "/run", "/etc", "/boot")
    )
    if system or is_too_wide(real, homes):
        return False
    return not any(real == each or each in real.parents for each in homes.never_granted())


def refused(grant: Grant, homes: Homes) -> tuple[Path, ...]:
    """Return the paths of a grant that may not be granted."""
    asked = sorted(grant.read | grant.write)
    return tuple(each for each in asked if not is_grantable(each, homes))
