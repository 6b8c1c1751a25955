"""config.yaml for those who look at it all the time: as it was when it could last be understood."""

import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.config_file import read_config

log = logging.getLogger(__name__)

_Stamp = tuple[int, int, int, int] | None


class LastGoodConfig:
    """Reads the file when it changed. Blocking, any thread.

    Who edits it by hand breaks it for a while; conversations go on meanwhile.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stamp: _Stamp = None
        self._good: Mapping[str, Any] | None = None
        self._is_current = False

    def read(self) -> Mapping[str, Any]:
        """What it says. Not to be changed.

        Raises:
            ConfigError: It cannot be understood, and never could be.
        """
        with self._lock:
            stamp = self._look()
            if self._is_current and stamp == self._stamp:
                return self._good or {}
            try:
                self._good = read_config(self._path).data
            except ConfigError as error:
                if self._good is None:
                    raise
                if stamp != self._stamp:
                    log.warning("What config.yaml said before counts: %s", error)
            self._stamp, self._is_current = stamp, True
            return self._good

    def _look(self) -> _Stamp:
        """What the system says of the file; asked before it is read, so that nothing is missed."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - looked at before every turn
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
