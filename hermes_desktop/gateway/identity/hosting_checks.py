"""Checks whether the gateway of a home may be hosted here, and whether that needs confirmation."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.home_kind import HomeKind
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.runtime_files.identity_events import NotHere

_SERVICE_FILES = ("*hermes*gateway*.service", "*hermes*gateway*.plist")
_HOME = "HERMES_HOME"
# In a unit NAME=value, in a plist <key>NAME</key><string>value</string>.
_NAMED = _HOME + r"(?:=|</key>\s*<string>)[\"']?{}/?[\"'<\s]"


def service_folders(user_home: Path) -> tuple[Path, ...]:
    """Return the folders in which service managers look for service definitions."""
    return (
        user_home / ".config" / "systemd" / "user",
        Path("/etc/systemd/system"),
        user_home / "Library" / "LaunchAgents",
        Path("/Library/LaunchDaemons"),
    )


def service_for(paths: HermesPaths, folders: Iterable[Path]) -> Path | None:
    """Return the service definition that keeps a gateway of this home running, if there is one.

    A definition that names no home belongs to the default profile.
    """
    homes = {str(paths.home), str(paths.home.resolve())}
    for folder in folders:
        for pattern in _SERVICE_FILES:
            for file in sorted(folder.glob(pattern)):
                if _is_for(file, homes, default=paths.profile == "default"):
                    return file
    return None


def _is_for(file: Path, homes: set[str], *, default: bool) -> bool:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    if _HOME not in text:
        return default
    return any(re.search(_NAMED.format(re.escape(home)), text) is not None for home in homes)


def closed_off(root: Path = Path("/")) -> str:
    """Return why other programs would see other process ids for us; "" when they do not."""
    if (root / ".flatpak-info").exists():
        return "It runs inside a Flatpak sandbox."
    try:
        status = (root / "proc" / "self" / "status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    numbers = re.search(r"^NSpid:\s*(.+)$", status, re.MULTILINE)
    if numbers and len(numbers[1].split()) > 1:
        return "It runs in its own process namespace."
    return ""


def _kind_of_home(db_path: Path) -> HomeKind:
    from hermes_desktop.state.database.home_marks import kind_of_home  # noqa: PLC0415 - loads SQLite

    return kind_of_home(db_path)


@dataclass(frozen=True, slots=True)
class HostingChecks:
    """The environment that decides whether a home may be hosted; tests substitute their own.

    Attributes:
        root: The root of the file system.
        folders: The folders that contain service definitions.
        kind_of: Returns the kind of home that a session database belongs to.
    """

    root: Path
    folders: tuple[Path, ...]
    kind_of: Callable[[Path], HomeKind] = _kind_of_home

    @classmethod
    def here(cls) -> "HostingChecks":
        """Return the checks for this machine and user."""
        return cls(Path("/"), service_folders(Path.home()))

    def obstacle(self) -> str:
        """Return why no gateway can be hosted on this system at all; "" when one can."""
        if os.name != "posix" or not (self.root / "proc" / "self").exists():
            return "The gateway can be hosted on Linux only."
        return closed_off(self.root)

    def refusal(self, paths: HermesPaths, service: Path | None) -> NotHere | None:
        """Return why this home must not be claimed; None when it may be.

        Args:
            paths: The home.
            service: A service definition for the home, unless the user chose to ignore it.
        """
        if obstacle := self.obstacle():
            return NotHere("obstacle", obstacle)
        if not paths.home.is_dir():
            return NotHere("no_home", f"{paths.home} does not exist.")
        home = self.kind_of(paths.state_db)
        if not home.may_write:
            # Holding the lock of such a home would block every `hermes` command.
            return NotHere("not_ours", f"{home.title} {home.reason}")
        if service is not None:
            return NotHere("service", f"{service} starts a gateway for it.", service)
        return None

    def service(self, paths: HermesPaths) -> Path | None:
        """Return the service definition for this home."""
        return service_for(paths, self.folders)
