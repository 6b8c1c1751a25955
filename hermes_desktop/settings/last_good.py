"""config.yaml for those who look at it all the time: as it was when it could last be understood."""

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
"""How long nobody must have written; how long a file may be empty that is not meant to be.

The first is waited for, so that what was changed right before a turn counts in it."""

_Stamp = tuple[int, int, int, int] | None


class LastGoodConfig:
    """Reads the file when it changed. Blocking, any thread.

    Who edits it by hand breaks it for a while; conversations go on meanwhile. A file that is
    written in its place, not replaced, is half there for a moment, or empty: it is read once that
    is over.

    Args:
        path: The file.
        clock: Says how long ago it was written.
        wait: Lets the calling thread wait that many seconds; None: by an event nobody sets.
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
        """What it says. Not to be changed.

        Raises:
            ConfigError: It cannot be understood, and never could be.
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
                    log.warning("What config.yaml said before counts: %s", error)
            self._stamp = stamp
            return self._good

    def _settled(self, stamp: _Stamp) -> _Stamp:
        """The file once nobody has written for a moment; as it is if somebody goes on."""
        rest = self._rests(stamp)
        if not 0 < rest <= SETTLE_S:
            return stamp
        self._wait(rest)
        return self._look()

    def _rests(self, stamp: _Stamp) -> float:
        """Seconds until it can be taken for written to its end; 0: it can."""
        if stamp is None or self._stamp is None or stamp[0] != self._stamp[0]:
            return 0.0  # it was replaced, which is done in one step
        age = self._clock.time() - stamp[1] / 1e9
        patience = EMPTY_S if not stamp[3] else SETTLE_S
        return max(0.0, patience - age) if age >= 0 else 0.0

    def _look(self) -> _Stamp:
        """What the system says of the file; asked before it is read, so that nothing is missed."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - looked at before every turn
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
