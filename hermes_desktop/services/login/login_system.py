"""Selection of the login entry for this operating system."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import HermesError
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
        return UnavailableEntry("HOME is not set, so it is unknown whose login this would be.")
    command = login_command(paths, environ)
    if system == "win32":
        return RunEntry(command, system_registry())
    if system == "darwin":
        return LaunchAgent(command, home / "Library" / "LaunchAgents")
    if Path("/.flatpak-info").exists():
        return UnavailableEntry("This Hermes Desktop runs in a sandbox (Flatpak).")
    own, others = config_folders(environ, home)
    return AutostartFile(command, own, others)


# ------------------------------------------------------------------------------
# Settings that the operating system stores, not this program; the system is authoritative.

AT_LOGIN = "start_at_login"


class SystemSettings:
    """Reads and changes these settings. Blocking; may be called on any thread.

    Args:
        paths: The home.
        environ: The process environment.
        entry: The entry that starts the program at login; None: that of this system.
    """

    def __init__(
        self, paths: HermesPaths, environ: Mapping[str, str], entry: LoginEntry | None = None
    ) -> None:
        self._paths = paths
        self._environ = environ
        self._entry = entry

    def read(self) -> dict[str, Any]:
        """Return the settings that are not at their default."""
        return {AT_LOGIN: True} if self._login().is_on() else {}

    def preview(self, wished: Mapping[str, Any]) -> str:
        """Return what would change, one line each; "" for nothing."""
        on = self._login().is_on()
        wanted = bool(wished.get(AT_LOGIN, on))
        return "" if wanted == on else f"{'+' if wanted else '-'}started at login\n"

    def change(self, wished: Mapping[str, Any]) -> Callable[[], None]:
        """Change the settings.

        Returns:
            A function that restores the previous state; raises nothing.

        Raises:
            HermesError: The system does not allow it.
        """
        if not self.preview(wished):
            return lambda: None
        self._set(on=bool(wished[AT_LOGIN]))
        return lambda: self._set_quietly(on=not wished[AT_LOGIN])

    def _set(self, *, on: bool) -> None:
        if on:
            self._login().turn_on()
        else:
            self._login().turn_off()

    def _set_quietly(self, *, on: bool) -> None:
        try:
            self._set(on=on)
        except HermesError:  # the caller reports its own failure
            return

    def _login(self) -> LoginEntry:
        if self._entry is None:
            self._entry = login_entry(self._paths, self._environ)
        return self._entry
