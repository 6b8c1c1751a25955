"""Record of chat messages that show an incomplete reply.

A killed process leaves such messages behind, and so does a connection that breaks before the last
edit: they would look unfinished forever. They are deleted before the reply, or its outcome, is sent
again.
"""

import json
import logging
import threading
from pathlib import Path

from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.core.files.private_files import make_private_folder
from hermes_desktop.gateway.runtime_files.identity_files import read_json

log = logging.getLogger(__name__)

FILE = "desktop/growing-replies.json"
_MOST, _PARTS = 200, 3

Place = tuple[str, str, str]
"""Platform, chat, message."""


class IncompleteMessages:
    """The list of a home. Blocking; any thread. What cannot be read or written is skipped.

    Args:
        home: The home; it must exist.
    """

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._lock = threading.Lock()
        self._left_behind: list[Place] | None = None
        self._now: list[Place] = []

    def add(self, place: Place) -> None:
        """Record a message that shows an incomplete reply."""
        with self._lock:
            self._known()
            self._now.append(place)
            self._write()

    def remove(self, *places: Place) -> None:
        """Remove messages that are about to show their complete reply."""
        with self._lock:
            known = [each for each in self._now if each not in places]
            if known != self._now:
                self._now = known
                self._write()

    def leave(self, *places: Place) -> None:
        """Record messages that stay incomplete and are to be deleted."""
        with self._lock:
            known = self._known()
            self._now = [each for each in self._now if each not in places]
            known.extend(each for each in places if each not in known)
            self._write()

    def left_behind(self, platform: str) -> list[Place]:
        """Return the messages to delete in chats of a platform."""
        with self._lock:
            return [each for each in self._known() if each[0] == platform]

    def taken_away(self, place: Place) -> None:
        """Remove a message that was deleted or cannot be deleted."""
        with self._lock:
            known = self._known()
            if place in known:
                known.remove(place)
                self._write()

    def _known(self) -> list[Place]:
        """Return the abandoned messages, also of earlier runs; read with the first call."""
        if self._left_behind is None:
            data = read_json(self._path)
            rows = data if isinstance(data, list) else []
            found = [row for row in rows if isinstance(row, list) and len(row) == _PARTS]
            self._left_behind = [(str(a), str(b), str(c)) for a, b, c in found]
        return self._left_behind

    def _write(self) -> None:
        try:
            make_private_folder(self._path.parent)
            write_text_atomic(self._path, json.dumps([*self._known(), *self._now][-_MOST:]))
        except OSError as error:
            log.warning("%s cannot be written: %s", FILE, error)
