"""Start at login on macOS, by a property list in ``LaunchAgents``."""

import contextlib
from pathlib import Path
from typing import Any

from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.services.login.login_start import LoginCommand, cannot_write

_PREFIX = "org.hermes-desktop."


class LaunchAgent:
    """One property list. Keys added by the user survive switching it off and on.

    Args:
        command: The command to start.
        folder: The user's ``LaunchAgents`` folder; created when something is written.
    """

    def __init__(self, command: LoginCommand, folder: Path) -> None:
        self._command = command
        self._label = _PREFIX + command.name
        self.file = folder / f"{self._label}.plist"

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's own file."""
        return (self.file,)

    def is_on(self) -> bool:
        """Return whether a file exists that starts something and is not disabled."""
        found = self._read()
        return bool(found.get("RunAtLoad")) and not found.get("Disabled")

    def turn_on(self) -> None:
        """Write the file; see :meth:`LoginEntry.turn_on`."""
        found = self._read()
        wanted: dict[str, Any] = {
            **found,
            "Label": self._label,
            "ProgramArguments": list(self._command.words),
            "RunAtLoad": True,
            "ProcessType": "Interactive",
        }
        if self._command.environment:
            wanted["EnvironmentVariables"] = dict(self._command.environment)
        wanted.pop("Disabled", None)
        self._write(wanted)

    def turn_off(self) -> None:
        """Remove the file; see :meth:`LoginEntry.turn_off`."""
        try:
            self.file.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(str(self.file), error) from error

    def _read(self) -> dict[str, Any]:
        import plistlib  # noqa: PLC0415 - 1 MiB that other systems do not need

        with contextlib.suppress(OSError, ValueError, plistlib.InvalidFileException):
            if self.file.is_file():
                found = plistlib.loads(self.file.read_bytes())
                return found if isinstance(found, dict) else {}
        return {}

    def _write(self, content: dict[str, Any]) -> None:
        import plistlib  # noqa: PLC0415 - as above

        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_text_atomic(self.file, plistlib.dumps(content).decode(), mode=0o644)
        except OSError as error:
            raise cannot_write(str(self.file), error) from error
