"""Selection of the login entry for this operating system."""

import sys
from collections.abc import Mapping
from pathlib import Path

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.login.login_macos import LaunchAgent
from hermes_desktop.services.login.login_start import LoginEntry, UnavailableEntry, login_command
from hermes_desktop.services.login.login_windows import RunEntry, system_registry
from hermes_desktop.services.login.login_xdg import AutostartFile, config_folders


def login_entry(
    paths: HermesPaths, environ: Mapping[str, str], *, system: str = sys.platform
) -> LoginEntry:
    """Return the entry of a home on this system.

    Args:
        paths: The home.
        environ: The process environment.
        system: The platform, as in ``sys.platform``.
    """
    home = Path(environ.get("HOME", ""))
    if system != "win32" and not home.is_absolute():
        return UnavailableEntry("It is not known whose login that would be: HOME is not set.")
    command = login_command(paths, environ)
    if system == "win32":
        return RunEntry(command, system_registry())
    if system == "darwin":
        return LaunchAgent(command, home / "Library" / "LaunchAgents")
    if Path("/.flatpak-info").exists():
        return UnavailableEntry("This Hermes Desktop runs in a sandbox (Flatpak).")
    own, others = config_folders(environ, home)
    return AutostartFile(command, own, others)
