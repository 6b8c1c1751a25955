"""Protection of process-wide state from plugins: what they remove while loading is restored.

What they add stays: it is theirs to use, and they run with the rights of the program.
"""

import logging
import sys
from typing import Any

log = logging.getLogger(__name__)

_STREAMS = ("stdin", "stdout", "stderr")


class ProcessState:
    """A snapshot of process-wide state. Any thread, before and after plugins are run."""

    def __init__(self) -> None:
        self._path = list(sys.path)
        self._finders = list(sys.meta_path)
        self._streams = {name: getattr(sys, name) for name in _STREAMS}

    def put_back(self) -> tuple[str, ...]:
        """Restore what was removed, behind what was added; log and return the names."""
        found = {
            "sys.path": _put_back(sys.path, self._path),
            "sys.meta_path": _put_back(sys.meta_path, self._finders),
        }
        for name, stream in self._streams.items():
            found[f"sys.{name}"] = getattr(sys, name) is not stream
            setattr(sys, name, stream)
        words = tuple(name for name, gone in found.items() if gone)
        if words:
            log.warning("A plugin took away what belongs to all: %s; put back", ", ".join(words))
        return words


def _put_back(now: list[Any], before: list[Any]) -> bool:
    gone = [each for each in before if each not in now]
    now.extend(gone)
    return bool(gone)
