"""Start at login on Windows, by a value of the registry key ``Run``."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from hermes_desktop.core.errors import HermesError, RefusedError
from hermes_desktop.services.login.login_start import LoginCommand, cannot_write

RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
APPROVED = r"Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
_ODD = 1


class Registry(Protocol):
    """The user's part of the registry."""

    def read(self, key: str, name: str) -> str | bytes | None:
        """Return a value; None where there is none."""
        ...

    def write(self, key: str, name: str, value: str) -> None:
        """Set a text value. Raises :class:`OSError`."""
        ...

    def remove(self, key: str, name: str) -> None:
        """Delete a value; harmless when there is none. Raises :class:`OSError`."""
        ...


class RunEntry:
    """One value under ``Run``; the Task Manager may switch it off separately.

    Args:
        command: The command to start.
        registry: The registry.
    """

    files: tuple[Path, ...] = ()

    def __init__(self, command: LoginCommand, registry: Registry) -> None:
        self._command = command
        self._registry = registry

    def is_on(self) -> bool:
        """Return whether the value exists and the Task Manager has not switched it off."""
        try:
            there = self._registry.read(RUN, self._command.name)
            approved = self._registry.read(APPROVED, self._command.name)
        except OSError:
            return False
        switched_off = isinstance(approved, bytes) and bool(approved) and approved[0] & _ODD
        return isinstance(there, str) and bool(there) and not switched_off

    def turn_on(self) -> None:
        """Write the value, and reset an earlier switching off."""
        if self._command.environment:
            raise RefusedError(
                "Start at login cannot be set for this home.",
                "It is selected by a variable, which Windows cannot set for a single program.",
                "Set HERMES_HOME for your account, or use a profile.",
            )
        self._change(
            lambda: self._registry.write(
                RUN, self._command.name, subprocess.list2cmdline(self._command.words)
            )
        )
        self._change(lambda: self._registry.remove(APPROVED, self._command.name))

    def turn_off(self) -> None:
        """Delete the value."""
        self._change(lambda: self._registry.remove(RUN, self._command.name))

    def _change(self, do: Callable[[], None]) -> None:
        try:
            do()
        except OSError as error:
            raise cannot_write(f"HKEY_CURRENT_USER\\{RUN}", error) from error


def system_registry() -> Registry:
    """Return the registry of this machine.

    Raises:
        HermesError: This is not Windows.
    """
    try:
        import winreg  # noqa: PLC0415 - only there
    except ImportError:
        raise HermesError("There is no registry on this system.") from None
    return _SystemRegistry(winreg)


class _SystemRegistry:
    """HKEY_CURRENT_USER."""

    def __init__(self, winreg: Any) -> None:
        self._winreg = winreg

    def read(self, key: str, name: str) -> str | bytes | None:
        try:
            with self._winreg.OpenKey(self._winreg.HKEY_CURRENT_USER, key) as opened:
                value = self._winreg.QueryValueEx(opened, name)[0]
        except FileNotFoundError:
            return None
        return value if isinstance(value, str | bytes) else None

    def write(self, key: str, name: str, value: str) -> None:
        with self._winreg.CreateKey(self._winreg.HKEY_CURRENT_USER, key) as opened:
            self._winreg.SetValueEx(opened, name, 0, self._winreg.REG_SZ, value)

    def remove(self, key: str, name: str) -> None:
        access = self._winreg.KEY_SET_VALUE
        try:
            with self._winreg.OpenKey(self._winreg.HKEY_CURRENT_USER, key, 0, access) as opened:
                self._winreg.DeleteValue(opened, name)
        except FileNotFoundError:
            return
