"""config.yaml for frequent readers: the last version of it that could be parsed."""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.config_file import read_config

log = logging.getLogger(__name__)

SETTLE_S, EMPTY_S = 0.15, 2.0
"""How long a file must have been unchanged, and how long an unintended empty file may last.

Reads wait for the first time, so that a change made right before a turn is in effect for it.
"""

_Stamp = tuple[int, int, int, int] | None


class LastValidConfig:
    """A cache of the file that is reread when the file changes. Blocking, any thread.

    While a user edits the file it may be invalid; conversations continue nevertheless. A file that
    is written in place, not replaced, is incomplete or empty for a moment: it is read once that is
    over.

    Args:
        path: The file.
        clock: Determines how long ago it was written.
        wait: Blocks the calling thread for that many seconds; None: waits on an event that is never
            set.
    """

    def __init__(
        self, path: Path, clock: Clock, wait: Callable[[float], object] | None = None
    ) -> None:
        self._path = path
        self._clock = clock
        self._wait = wait or threading.Event().wait
        self._lock = threading.Lock()
        self._stamp: _Stamp = None
        self._good: Mapping[str, Any] | None = None

    def read(self) -> Mapping[str, Any]:
        """Return the parsed data, which must not be modified.

        Raises:
            ConfigError: It cannot be parsed, and never could be.
        """
        with self._lock:
            stamp = self._look()
            if self._good is not None and stamp != self._stamp:
                stamp = self._settled(stamp)
                if self._rests(stamp):
                    return self._good  # still being written
            if self._good is not None and stamp == self._stamp:
                return self._good
            try:
                self._good = read_config(self._path).data
            except ConfigError as error:
                if self._good is None:
                    raise
                if stamp != self._stamp:
                    log.warning("The previous content of config.yaml is used: %s", error)
            self._stamp = stamp
            return self._good

    def _settled(self, stamp: _Stamp) -> _Stamp:
        """Return the file's state after a moment of rest; the current one if it still changes."""
        rest = self._rests(stamp)
        if not 0 < rest <= SETTLE_S:
            return stamp
        self._wait(rest)
        return self._look()

    def _rests(self, stamp: _Stamp) -> float:
        """Return the seconds until it can be considered completely written; 0 when it is."""
        if stamp is None or self._stamp is None or stamp[0] != self._stamp[0]:
            return 0.0  # it was replaced, which is atomic
        age = self._clock.time() - stamp[1] / 1e9
        patience = EMPTY_S if not stamp[3] else SETTLE_S
        return max(0.0, patience - age) if age >= 0 else 0.0

    def _look(self) -> _Stamp:
        """Return the file's status, read before the file, so that no change is missed."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - looked at before every turn
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
