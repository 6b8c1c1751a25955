"""Safe replacement of a settings file that other programs write, too.

A file is not replaced while another program writes it, nor over changes that were not read. Nothing
here depends on the content of the file. All functions block; any thread.
"""

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import BusyError, ConfigError
from hermes_desktop.core.files.atomic_files import remove_leftovers, write_bytes_atomic
from hermes_desktop.settings.config_file import read_settings_bytes
from hermes_desktop.settings.last_valid_config import EMPTY_S, SETTLE_S

TRIES = 5
_LOOKS = 20

_Stamp = tuple[int, int, int]
_OWN: dict[str, _Stamp] = {}
"""By path: the state of a file after this process replaced it atomically, so no wait is needed."""


class ConcurrentWriteError(Exception):
    """Another process wrote the file after it was read; nothing was replaced."""


class SharedFile:
    """A file that is read and replaced safely.

    A program that writes a file in place empties it first. Reading it just then and replacing it
    would destroy what the other program is about to write; so a file that has just been written
    is not read yet, and its content is compared again right before it is replaced.

    Args:
        path: The file; a symbolic link is followed.
        clock: Determines how long ago it was written.
        wait: Blocks the calling thread for that many seconds; None: waits on an event that is never
            set.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock | None = None,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.path = path
        self._clock = clock or SystemClock()
        self._wait = wait or threading.Event().wait

    def read(self) -> bytes | None:
        """Return the content once the file has not been written for a moment; None without a file.

        Raises:
            ConfigError: It is not a regular file, too large, or may not be read.
        """
        self.settle()
        return read_settings_bytes(self.path)

    def settle(self) -> None:
        """Wait, at most some seconds, while another program writes the file in place."""
        for _ in range(_LOOKS):
            rest = self.rest()
            if not rest:
                break
            self._wait(rest)

    def replace(self, data: bytes, before: bytes | None) -> None:
        """Replace the content.

        Args:
            data: The new content.
            before: The result of :meth:`read`.

        Raises:
            ConcurrentWriteError: The content has changed since.
            OSError: It cannot be written, or is read-only on purpose.
        """

        def last_look() -> None:
            try:
                now = self.path.read_bytes()
            except FileNotFoundError:
                now = None
            if now != before:
                raise ConcurrentWriteError

        must_be_writable(self.path)
        remove_leftovers(self.path)
        write_bytes_atomic(self.path, data, last_look=last_look)
        _OWN[str(self.path)] = self._stamp()

    def remove(self, before: bytes) -> None:
        """Remove the file, if it still has this content.

        Raises:
            OSError: It cannot be removed.
        """
        if self.path.read_bytes() == before:
            self.path.unlink()

    def rest(self) -> float:
        """Return the seconds until it can be considered completely written; 0 when it is."""
        stamp = inode, written, size = self._stamp()
        if not inode or stamp == _OWN.get(str(self.path)):
            return 0.0
        age = self._clock.time() - written / 1e9
        patience = SETTLE_S if size else EMPTY_S
        return max(0.0, patience - age) if age >= 0 else 0.0

    def _stamp(self) -> _Stamp:
        try:
            found = self.path.stat()
        except OSError:
            return 0, 0, 0
        return found.st_ino, found.st_mtime_ns, found.st_size


def must_be_writable(path: Path) -> None:
    """Verify that a file is not read-only, because replacing it by a rename would not check that.

    Raises:
        PermissionError: It is read-only.
    """
    effective = os.access in os.supports_effective_ids
    if path.exists() and not os.access(path, os.W_OK, effective_ids=effective):
        raise PermissionError(13, "It is read-only", str(path))


def unwritable(path: Path, error: OSError, at: Path | None = None) -> ConfigError:
    """Return the error, for the user, that a file cannot be written.

    Args:
        path: The file.
        error: The error of the system.
        at: The path it concerns, if that is another one.
    """
    return ConfigError(
        f"{path.name} cannot be written.",
        f"{at or path}: {error.strerror or type(error).__name__}.",
        "Check the permissions of the file and its folder.",
    )


def busy_error(path: Path) -> BusyError:
    """Return the error that another program writes a file all the time."""
    return BusyError(
        f"Another program keeps writing {path.name}.",
        f"{path} changed {TRIES} times during the change.",
        "Try again in a moment.",
    )


def is_managed(home: Path, environ: Mapping[str, str]) -> str:
    """Return why this program may not write the settings of a home; "" when it may."""
    if environ.get("HERMES_MANAGED", "").strip():
        return "The variable HERMES_MANAGED is set."
    mark = home / ".managed"
    return f"The file {mark} exists." if os.path.lexists(mark) else ""
