"""Which messages of chats show a reply that is still being written.

Who is killed leaves them behind, and they look unfinished for ever. The next run takes them away
before it brings the reply, or what became of it.
"""

import json
import logging
import threading
from pathlib import Path

from hermes_desktop.core.atomic_files import write_text_atomic
from hermes_desktop.gateway.identity_files import read_json

log = logging.getLogger(__name__)

FILE = "desktop/growing-replies.json"
_MOST, _PARTS = 200, 3

Place = tuple[str, str, str]
"""Platform, chat, message."""


class GrowingFiles:
    """The list of a home. Blocking; any thread. What cannot be read or written is left out.

    Args:
        home: The home; it must exist.
    """

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._lock = threading.Lock()
        self._left_behind: list[Place] | None = None
        self._now: list[Place] = []

    def add(self, place: Place) -> None:
        """A message shows a reply that grows."""
        with self._lock:
            self._known()
            self._now.append(place)
            self._write()

    def remove(self, *places: Place) -> None:
        """Messages grow no more: they are about to show all of their reply."""
        with self._lock:
            known = [each for each in self._now if each not in places]
            if known != self._now:
                self._now = known
                self._write()

    def take(self, platform: str) -> list[Place]:
        """What an earlier run left behind in chats of a platform; told once."""
        with self._lock:
            left_behind = self._known()
            found = [each for each in left_behind if each[0] == platform]
            if found:
                self._left_behind = [each for each in left_behind if each[0] != platform]
                self._write()
            return found

    def _known(self) -> list[Place]:
        """What an earlier run left behind; read with the first call."""
        if self._left_behind is None:
            data = read_json(self._path)
            rows = data if isinstance(data, list) else []
            found = [row for row in rows if isinstance(row, list) and len(row) == _PARTS]
            self._left_behind = [(str(a), str(b), str(c)) for a, b, c in found]
        return self._left_behind

    def _write(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_text_atomic(self._path, json.dumps([*self._known(), *self._now][-_MOST:]))
        except OSError as error:
            log.warning("%s cannot be written: %s", FILE, error)
