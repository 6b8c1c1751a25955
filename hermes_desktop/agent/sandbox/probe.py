"""Which level works on this computer: found out by really running one command at each."""

import atexit
import logging
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from hermes_desktop.agent.sandbox.bubblewrap import find_bubblewrap
from hermes_desktop.agent.sandbox.grants import Grant, Level, SandboxStatus
from hermes_desktop.agent.sandbox.landlock import landlock_version
from hermes_desktop.agent.sandbox.launching import launch
from hermes_desktop.agent.sandbox.macos import is_macos
from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.agent.sandbox.seccomp import is_supported

log = logging.getLogger(__name__)

_TIMEOUT_S = 20.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_RELEASE = Path("/etc/os-release")
_RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_MOST_SPACES = Path("/proc/sys/user/max_user_namespaces")
_FLATPAK, _CONTAINERS = Path("/.flatpak-info"), (Path("/.dockerenv"), Path("/run/.containerenv"))
_INSTALL = {
    "debian": "sudo apt-get install bubblewrap",
    "ubuntu": "sudo apt-get install bubblewrap",
    "fedora": "sudo dnf install bubblewrap",
    "rhel": "sudo dnf install bubblewrap",
    "arch": "sudo pacman -S bubblewrap",
    "suse": "sudo zypper install bubblewrap",
    "opensuse": "sudo zypper install bubblewrap",
    "alpine": "sudo apk add bubblewrap",
}
_PROFILE = (
    "Ubuntu lets bubblewrap work only with its AppArmor profile: sudo apt-get install "
    "apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
    "/etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
)
_NO_NAMESPACES = "macOS has no closed sandbox."
_lock = threading.Lock()
_known: tuple[object, SandboxStatus] | None = None


def probe(*, fresh: bool = False) -> SandboxStatus:
    """Return the highest level that works here. Blocking at first; thread-safe; never raises.

    The result is kept until bubblewrap is installed, replaced or removed.

    Args:
        fresh: Find out again, because something else was changed.
    """
    global _known  # noqa: PLW0603 - one answer for one computer
    key = _key()
    with _lock:
        if fresh or _known is None or _known[0] != key:
            _known = (key, _probe())
            log.info("Sandbox: level %s %s", _known[1].level.value, _known[1].error)
        return _known[1]


def _key() -> object:
    """Return what the answer depends on."""
    try:
        program = find_bubblewrap()
        changed = program.stat().st_mtime_ns if program is not None else 0
        return program, changed, _read(_BOOT)
    except OSError:
        return None


def _probe() -> SandboxStatus:
    if is_macos():
        wrong = _try(Level.PARTLY_HELD)
        return SandboxStatus(Level.NONE if wrong else Level.PARTLY_HELD, wrong or _NO_NAMESPACES)
    if not hasattr(os, "memfd_create") or not is_supported():
        return SandboxStatus(Level.NONE, "There is no sandbox for this kind of computer yet.")
    error = "bubblewrap is not installed." if find_bubblewrap() is None else _try(Level.CLOSED)
    if not error:
        return SandboxStatus(Level.CLOSED)
    remedy = remedy_for(error)
    if not landlock_version():
        return SandboxStatus(Level.NONE, f"{error} Landlock is missing, too.", remedy)
    partly = _try(Level.PARTLY_HELD)
    if not partly:
        return SandboxStatus(Level.PARTLY_HELD, error, remedy)
    return SandboxStatus(Level.NONE, f"{error} {partly}", remedy)


def _try(level: Level) -> str:
    """Run one command at a level; return the exact error, "" when it works."""
    try:
        with _temporary_folder() as name:
            folder, homes = Path(name, "work"), Homes(Path(name, "home"), Path(name, "hermes"))
            for each in (folder, homes.user, homes.hermes):
                each.mkdir()
            kept = homes.user / ".ssh"
            kept.mkdir()
            (kept / "key").write_text("key", "utf-8")
            script = f"! cat {shlex.quote(str(kept / 'key'))} 2>/dev/null && echo > ok"
            environ = {"PATH": os.defpath, "HOME": str(homes.user)}
            with launch(
                ["/bin/sh", "-c", script], Grant(folder), level, homes, environ=environ, cwd=folder
            ) as started:
                ended = subprocess.run(  # noqa: S603 - our own command
                    started.argv,
                    env=dict(started.environ),
                    cwd=started.cwd,
                    pass_fds=started.descriptors,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_TIMEOUT_S,
                    check=False,
                )
            if ended.returncode == 0 and (folder / "ok").exists():
                return ""
            said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
            return said[-1] if said else f"It ended with code {ended.returncode}."
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)


@contextmanager
def _temporary_folder() -> Iterator[str]:
    """Yield a folder that is gone afterwards, also if the program ends while a command runs."""
    name = tempfile.mkdtemp(prefix="hermes-probe-")
    remove = partial(shutil.rmtree, name, ignore_errors=True)
    atexit.register(remove)
    try:
        yield name
    finally:
        remove()
        atexit.unregister(remove)


def remedy_for(error: str) -> str:
    """Return what the user can do about an error of bubblewrap, in words of the distribution."""
    if _FLATPAK.exists():
        return "Flatpak refuses what bubblewrap needs. Install the program outside Flatpak."
    if "not installed" in error:
        family = _family()
        command = next((_INSTALL[each] for each in family if each in _INSTALL), "")
        return f"Install it: {command}" if command else "Install the package bubblewrap."
    if any(each.exists() for each in _CONTAINERS):
        return "This container refuses user namespaces. Whoever runs it can allow them."
    if _read(_RESTRICTED) == "1":
        return _PROFILE
    if _read(_MOST_SPACES) == "0":
        return "User namespaces are switched off: sudo sysctl user.max_user_namespaces=15000"
    return ""


def _family() -> list[str]:
    """Return the distribution and those that it descends from."""
    found: dict[str, str] = {}
    for line in _read(_RELEASE).splitlines():
        name, _, value = line.partition("=")
        found[name] = value.strip("\"'")
    words = [found.get("ID", ""), *found.get("ID_LIKE", "").split()]
    return [part for word in words for part in (word, word.partition("-")[0])]


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
