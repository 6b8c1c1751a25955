"""Where the gateway of a home must not, or not without asking, be hosted by us."""

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
    """Where service managers look for what they start."""
    return (
        user_home / ".config" / "systemd" / "user",
        Path("/etc/systemd/system"),
        user_home / "Library" / "LaunchAgents",
        Path("/Library/LaunchDaemons"),
    )


def service_for(paths: HermesPaths, folders: Iterable[Path]) -> Path | None:
    """The file by which a service manager keeps a gateway of this home running.

    A file that names no home is one for the default profile.
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
    """Why other programs would not see our process ids as they are; "" when they do."""
    if (root / ".flatpak-info").exists():
        return "It runs inside a Flatpak sandbox."
    try:
        status = (root / "proc" / "self" / "status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    numbers = re.search(r"^NSpid:\s*(.+)$", status, re.MULTILINE)
    if numbers and len(numbers[1].split()) > 1:
        return "It runs in a process namespace of its own."
    return ""


def _kind_of_home(db_path: Path) -> HomeKind:
    from hermes_desktop.state.database.home_marks import kind_of_home  # noqa: PLC0415 - loads SQLite

    return kind_of_home(db_path)


@dataclass(frozen=True, slots=True)
class HostingChecks:
    """The surroundings that decide; tests give others.

    Attributes:
        root: The root of the file system.
        folders: Where services are defined.
        kind_of: What kind of home a session database is in.
    """

    root: Path
    folders: tuple[Path, ...]
    kind_of: Callable[[Path], HomeKind] = _kind_of_home

    @classmethod
    def here(cls) -> "HostingChecks":
        """Those of this machine and person."""
        return cls(Path("/"), service_folders(Path.home()))

    def obstacle(self) -> str:
        """Why no gateway can be hosted from here at all; "" when nothing is in the way."""
        if os.name != "posix" or not (self.root / "proc" / "self").exists():
            return "Hosting the gateway is only possible on Linux so far."
        return closed_off(self.root)

    def refusal(self, paths: HermesPaths, service: Path | None) -> NotHere | None:
        """Why this home is not claimed.

        Args:
            paths: The home.
            service: The definition of a service for it that nobody has said to ignore.
        """
        if obstacle := self.obstacle():
            return NotHere("obstacle", obstacle)
        if not paths.home.is_dir():
            return NotHere("no_home", f"{paths.home} does not exist.")
        home = self.kind_of(paths.state_db)
        if not home.may_write:
            # Whoever holds its lock keeps every `hermes` command of such a home waiting.
            return NotHere("not_ours", f"{home.title} {home.reason}")
        if service is not None:
            return NotHere("service", f"{service} starts a gateway for it.", service)
        return None

    def service(self, paths: HermesPaths) -> Path | None:
        """The definition of a service for this home."""
        return service_for(paths, self.folders)
