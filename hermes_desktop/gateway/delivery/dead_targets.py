"""Unreachable chats, recorded so that no deliveries to them are attempted.

The gateway of the ``hermes`` command reads and writes the same file; its unknown content is
preserved.
"""

import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.core.files.private_files import make_private_folder
from hermes_desktop.gateway.platforms.base import ErrorKind
from hermes_desktop.gateway.runtime_files.identity_files import read_json

log = logging.getLogger(__name__)

_FILE = Path("gateway") / "dead_targets.json"
_REASON_LENGTH = 200
_DEAD = frozenset({"forbidden", "not_found"})


def means_unreachable(kind: ErrorKind | None) -> bool:
    """Return whether a platform's error means that a chat cannot be written to any more."""
    return kind in _DEAD


class DeadTargets:
    """The unreachable chats, on the disk of a home. Blocking; any thread may use it.

    What cannot be read or written is logged: it costs an extra attempt, never a reply.

    Args:
        home: The home.
    """

    def __init__(self, home: Path, clock: Clock | None = None) -> None:
        self._path = home / _FILE
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._entries: dict[str, Any] = {}

    def is_dead(self, platform: str, chat_id: str) -> bool:
        """Return whether a chat is known to be unreachable."""
        with self._lock:
            return _key(platform, chat_id) in self._read()

    def mark(self, platform: str, chat_id: str, reason: str) -> None:
        """Record that a chat is unreachable."""
        with self._lock:
            entry = {
                "platform": platform,
                "chat_id": chat_id,
                "reason": reason[:_REASON_LENGTH],
                "marked_at": self._clock.time(),
            }
            self._write({**self._read(), _key(platform, chat_id): entry})

    def clear(self, platform: str, chat_id: str) -> bool:
        """Record that a chat is reachable: it sent or accepted a text. True if it was dead."""
        with self._lock:
            entries = dict(self._read())
            if entries.pop(_key(platform, chat_id), None) is None:
                return False
            self._write(entries)
            return True

    def _read(self) -> dict[str, Any]:
        try:
            state = self._path.stat()
        except OSError:
            self._seen, self._entries = None, {}
            return self._entries
        seen = (state.st_mtime_ns, state.st_size)
        if seen != self._seen:
            data = read_json(self._path)
            self._entries = dict(data) if isinstance(data, Mapping) else {}
            self._seen = seen
        return self._entries

    def _write(self, entries: dict[str, Any]) -> None:
        self._entries = entries
        try:
            make_private_folder(self._path.parent)
            write_text_atomic(self._path, json.dumps(entries, indent=2))
            state = self._path.stat()
            self._seen = (state.st_mtime_ns, state.st_size)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._path, error)


def _key(platform: str, chat_id: str) -> str:
    return f"{platform.strip().lower()}:{chat_id.strip()}"
