"""Replacing a settings file that others write, too: not while they do, not over what they wrote.

Nothing here knows what stands in the file. All of it blocks; any thread.
"""

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import BusyError, ConfigError
from hermes_desktop.core.files.atomic_files import remove_leftovers, write_bytes_atomic
from hermes_desktop.settings.config_file import read_settings_bytes
from hermes_desktop.settings.last_good import EMPTY_S, SETTLE_S

TRIES = 5
_LOOKS = 20

_Stamp = tuple[int, int, int]
_OWN: dict[str, _Stamp] = {}
"""By path: what this process wrote itself, in one step, so that nobody waits for it."""


class WrittenMeanwhileError(Exception):
    """Somebody else wrote the file after it was read; nothing was replaced."""


class CarefulFile:
    """One file.

    A program that writes a file in its place empties it first. Who reads it just then, and puts a
    file of its own there, destroys what the other was about to write; so nobody is read who wrote
    a moment ago, and what was read is compared once more right before it is replaced.

    Args:
        path: The file; a symbolic link is followed.
        clock: Says how long ago it was written.
        wait: Lets the calling thread wait that many seconds; None: by an event nobody sets.
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
        """What stands there once nobody has written for a moment; None when there is no file.

        Raises:
            ConfigError: It is no plain file, too large, or may not be read.
        """
        for _ in range(_LOOKS):
            rest = self.rest()
            if not rest:
                break
            self._wait(rest)
        return read_settings_bytes(self.path)

    def replace(self, data: bytes, before: bytes | None) -> None:
        """Put other bytes there.

        Args:
            data: What is to stand there.
            before: What :meth:`read` gave.

        Raises:
            WrittenMeanwhileError: Something else stands there by now.
            OSError: It cannot be written, or is not to be: somebody made it read-only.
        """

        def last_look() -> None:
            try:
                now = self.path.read_bytes()
            except FileNotFoundError:
                now = None
            if now != before:
                raise WrittenMeanwhileError

        must_be_writable(self.path)
        remove_leftovers(self.path)
        write_bytes_atomic(self.path, data, last_look=last_look)
        _OWN[str(self.path)] = self._stamp()

    def remove(self, before: bytes) -> None:
        """Take it away, if that still stands there.

        Raises:
            OSError: It cannot be taken away.
        """
        if self.path.read_bytes() == before:
            self.path.unlink()

    def rest(self) -> float:
        """Seconds until it can be taken for written to its end; 0: it can."""
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
    """See that nobody made a file read-only: renaming another over it would not ask.

    Raises:
        PermissionError: Somebody did.
    """
    effective = os.access in os.supports_effective_ids
    if path.exists() and not os.access(path, os.W_OK, effective_ids=effective):
        raise PermissionError(13, "It is read-only", str(path))


def unwritable(path: Path, error: OSError, at: Path | None = None) -> ConfigError:
    """That a file cannot be written, for a person.

    Args:
        path: The file.
        error: What the system says.
        at: Where it says it, if that is another place.
    """
    return ConfigError(
        f"{path.name} cannot be written.",
        f"{at or path}: {error.strerror or type(error).__name__}.",
        "Check the rights of the file and its folder.",
    )


def always_written(path: Path) -> BusyError:
    """That somebody else writes a file all the time."""
    return BusyError(
        f"{path.name} is being written by somebody else.",
        f"{path} changed {TRIES} times while it was being changed.",
        "Try again in a moment.",
    )


def is_managed(home: Path, environ: Mapping[str, str]) -> str:
    """Why the settings of a home are not ours to write; "" when they are."""
    if environ.get("HERMES_MANAGED", "").strip():
        return "The variable HERMES_MANAGED says so."
    mark = home / ".managed"
    return f"{mark} says so." if os.path.lexists(mark) else ""
