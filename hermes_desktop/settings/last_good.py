"""config.yaml for those who look at it all the time: as it was when it could last be understood."""

import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.config_file import read_config

log = logging.getLogger(__name__)

SETTLE_S, EMPTY_S = 0.15, 2.0
"""How long nobody must have written; how long a file may be empty that is not meant to be."""

_Stamp = tuple[int, int, int, int] | None


class LastGoodConfig:
    """Reads the file when it changed. Blocking, any thread.

    Who edits it by hand breaks it for a while; conversations go on meanwhile. A file that is
    written in its place, not replaced, is half there for a moment, or empty: it is read once that
    is over.

    Args:
        path: The file.
        clock: Says how long ago it was written.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
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
            if self._good is not None and (stamp == self._stamp or self._is_being_written(stamp)):
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

    def _is_being_written(self, stamp: _Stamp) -> bool:
        if stamp is None or self._stamp is None or stamp[0] != self._stamp[0]:
            return False  # it was replaced, which is done in one step
        patience = EMPTY_S if not stamp[3] else SETTLE_S
        return 0 <= self._clock.time() - stamp[1] / 1e9 < patience

    def _look(self) -> _Stamp:
        """What the system says of the file; asked before it is read, so that nothing is missed."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - looked at before every turn
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
