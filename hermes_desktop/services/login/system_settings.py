"""Settings that the system keeps, not a file of ours: what it says is what is so."""

from collections.abc import Callable, Mapping
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.login.login_start import LoginEntry
from hermes_desktop.services.login.login_system import login_entry

AT_LOGIN = "start_at_login"


class SystemSettings:
    """Looks at them and changes them. Blocking; any thread.

    Args:
        paths: The home.
        environ: The process environment.
        entry: What is started at login; None: that of this system.
    """

    def __init__(
        self, paths: HermesPaths, environ: Mapping[str, str], entry: LoginEntry | None = None
    ) -> None:
        self._paths = paths
        self._environ = environ
        self._entry = entry

    def read(self) -> dict[str, Any]:
        """Those that are not at their default."""
        return {AT_LOGIN: True} if self._login().is_on() else {}

    def preview(self, wished: Mapping[str, Any]) -> str:
        """What would change, a line each; "" for nothing."""
        on = self._login().is_on()
        wanted = bool(wished.get(AT_LOGIN, on))
        return "" if wanted == on else f"{'+' if wanted else '-'}started at login\n"

    def change(self, wished: Mapping[str, Any]) -> Callable[[], None]:
        """Change them.

        Returns:
            Brings back what was before; raises nothing.

        Raises:
            HermesError: The system does not let us.
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
        except HermesError:  # whoever called has a failure of its own to tell
            return

    def _login(self) -> LoginEntry:
        if self._entry is None:
            self._entry = login_entry(self._paths, self._environ)
        return self._entry
