"""The home folder and the paths inside it.

The rules are those of the ``hermes`` command, so that both always use the same folder:
``--profile`` first; else a ``HERMES_HOME`` that already points into a ``profiles`` folder; else
the profile named in ``<root>/active_profile``; else ``HERMES_HOME`` or the default home.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from hermes_desktop.core.errors import NotFoundError, UsageError

_PROFILE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_RESERVED = frozenset({"hermes", "default", "test", "tmp", "root", "sudo"})


@dataclass(frozen=True, slots=True)
class HermesPaths:
    """One Hermes home and the known files in it.

    Attributes:
        home: The profile's home, absolute.
        root: The home of the default profile; equal to ``home`` for that one.
        profile: ``default``, a profile's name, or ``custom`` for a home outside the root.
    """

    home: Path
    root: Path
    profile: str = "default"

    @property
    def state_db(self) -> Path:
        """The shared database of all conversations."""
        return self.home / "state.db"

    @property
    def config_yaml(self) -> Path:
        """The settings shared with the ``hermes`` command."""
        return self.home / "config.yaml"

    @property
    def env_file(self) -> Path:
        """The shared ``.env``; read as a separate layer, never loaded into the environment."""
        return self.home / ".env"

    @property
    def sessions_dir(self) -> Path:
        """Folder of ``sessions.json``."""
        return self.home / "sessions"

    @property
    def desktop_dir(self) -> Path:
        """The folder of our own files (mode 0700)."""
        return self.home / "desktop"

    @property
    def own_store(self) -> Path:
        """Our own database, which contains the trash."""
        return self.desktop_dir / "desktop.db"

    @property
    def snapshots_dir(self) -> Path:
        """The folder of our snapshots of the shared database."""
        return self.desktop_dir / "snapshots"

    @property
    def window_ini(self) -> Path:
        """The saved size, splitters and page of the window."""
        return self.desktop_dir / "window.ini"

    @property
    def log_file(self) -> Path:
        """Our log file; the other logs in that folder are only read."""
        return self.home / "logs" / "desktop.log"

    @property
    def namespace(self) -> str:
        """The second part of session keys: ``main``, or the profile's name."""
        return "main" if self.profile in {"default", "custom"} else self.profile

    @property
    def profile_column(self) -> str | None:
        """The value of ``sessions.profile_name`` for this home."""
        return None if self.profile == "default" else self.profile


def default_root(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the home of the default profile when the environment names no other."""
    if platform == "win32":
        local = environ.get("LOCALAPPDATA", "").strip()
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "hermes"
    home = environ.get("HOME", "")
    return (Path(home) if home.strip() else Path.home()) / ".hermes"


def resolve_paths(environ: Mapping[str, str], profile: str | None = None) -> HermesPaths:
    """Determine the home, as the ``hermes`` command would.

    Args:
        environ: The process environment.
        profile: The name given with ``--profile``; None when it was not given.

    Raises:
        UsageError: The profile's name is not valid.
        NotFoundError: The named profile has no folder.
    """
    default = default_root(environ)
    named = environ.get("HERMES_HOME", "").strip()
    home = Path(named).absolute() if named else default
    root = _root_of(home, default)
    if profile is not None:
        return _profile_paths(root, profile)
    if home.parent.name == "profiles" and home != root:
        if not home.is_dir():
            raise _no_such_profile(home, "HERMES_HOME is set to it.")
        return HermesPaths(home, root, _profile_of(home, root))
    active = _active_profile(root, environ)
    if active:
        return _profile_paths(root, active, origin=f"It is set in {root / 'active_profile'}.")
    return HermesPaths(home, root, _profile_of(home, root))


def _root_of(home: Path, default: Path) -> Path:
    if home == default or default in home.parents:
        return default
    return home.parent.parent if home.parent.name == "profiles" else home


def _profile_of(home: Path, root: Path) -> str:
    if home == root:
        return "default"
    if home.parent == root / "profiles" and _PROFILE_NAME.fullmatch(home.name):
        return home.name
    return "custom"


def _active_profile(root: Path, environ: Mapping[str, str]) -> str | None:
    return None if environ.get("HERMES_S6_SUPERVISED_CHILD") else active_profile(root)


def active_profile(root: Path) -> str | None:
    """Return the profile that a plain ``hermes`` uses; None for the default one."""
    try:
        name = (root / "active_profile").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return name if name and name != "default" else None


def _profile_paths(root: Path, name: str, *, origin: str = "") -> HermesPaths:
    if name == "default":
        return HermesPaths(root, root)
    if not _PROFILE_NAME.fullmatch(name) or name in _RESERVED:
        rule = (
            "Names consist of lowercase letters, digits, - and _, have at most 64 "
            "characters, and must not be reserved."
        )
        raise UsageError(
            f"“{name}” cannot be the name of a profile.",
            f"{rule} {origin}".rstrip(),
            "Use the name of a profile that `hermes profile list` shows.",
        )
    home = root / "profiles" / name
    if not home.is_dir():
        raise _no_such_profile(home, origin)
    return HermesPaths(home, root, name)


def _no_such_profile(home: Path, origin: str) -> NotFoundError:
    """Build the error. The folder is not created: a deleted profile must not reappear empty."""
    make = f"mkdir -p {quote(str(home))}"
    return NotFoundError(
        f"There is no profile “{home.name}”.",
        f"The folder {home} does not exist. {origin}".rstrip(),
        f"Check the name. To create a new profile, create its folder with `{make}`, or use "
        f"`hermes profile create {home.name}` where hermes-agent is installed.",
    )


def runtime_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder for locks and sockets: removed at logout where the system has one."""
    env = os.environ if environ is None else environ
    value = env.get("XDG_RUNTIME_DIR", "")
    if value and Path(value).is_absolute() and os.access(value, os.W_OK):
        return Path(value)
    from platformdirs import user_state_path  # noqa: PLC0415 - only where the system has none

    return user_state_path("hermes-desktop", appauthor=False, ensure_exists=True)
