"""A file whose content is parsed once, and read again only after it changed."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.settings.config_file import read_settings_bytes

T = TypeVar("T")

_FINE_S, _COARSE_S = 0.1, 2.5
"""How old a change must be until the file's time shows every further one.

File systems count in ticks: two writes within one tick leave the same time. Most have ticks of some
milliseconds; those that count whole seconds are recognized by their times.
"""

_Stamp = tuple[int, int, int, int]


class CachedFile(Generic[T]):
    """A file, its content, and what was parsed from it. Blocking, any thread.

    A file that has just changed is always read: its time may not show the next change. The
    same content is not parsed twice.

    Args:
        path: The file; a symbolic link is followed.
        parse: Parses a content; None: there is no file. The result is shared, and must not be
            modified.
        clock: The clock of the file system.
    """

    def __init__(
        self, path: Path, parse: Callable[[bytes | None], T], clock: Clock | None = None
    ) -> None:
        self.path = path
        self._parse = parse
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._stamp: _Stamp | None = None
        self._known: tuple[bytes | None, T] | None = None

    def read(self) -> T:
        """Return what the file contains now.

        Raises:
            ConfigError: It cannot be read or parsed.
        """
        with self._lock:
            stamp = self._look()
            if self._known is not None and stamp is not None and stamp == self._stamp:
                return self._known[1]
            self._stamp = None
            parsed = self._parsed(read_settings_bytes(self.path))
            self._stamp = stamp
            return parsed

    def parsed(self, data: bytes | None) -> T:
        """Return what a content of the file contains that was read elsewhere.

        Raises:
            ConfigError: It cannot be parsed.
        """
        with self._lock:
            if self._known is None or self._known[0] != data:
                self._stamp = None
            return self._parsed(data)

    def remember(self, data: bytes | None, parsed: T) -> None:
        """Store what a content that was just written contains, so that it is not parsed again."""
        with self._lock:
            self._stamp, self._known = None, (data, parsed)

    def _parsed(self, data: bytes | None) -> T:
        if self._known is None or self._known[0] != data:
            self._known = (data, self._parse(data))
        return self._known[1]

    def _look(self) -> _Stamp | None:
        """Return the file's state, read before its content; None where it proves nothing."""
        try:
            found = os.stat(self.path)  # noqa: PTH116 - looked at before every use
        except FileNotFoundError:
            return (0, 0, 0, 0)
        except OSError:
            return None
        tick = _FINE_S if found.st_mtime_ns % 1_000_000_000 else _COARSE_S
        newest = max(found.st_mtime_ns, found.st_ctime_ns) / 1e9
        if not tick < self._clock.time() - newest:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
