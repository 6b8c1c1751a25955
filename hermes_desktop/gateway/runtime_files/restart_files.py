"""Small files, shared with ``hermes``, that pass the outcome of one gateway run to the next.

Blocking. A file that cannot be read or written is logged and counts as absent: none of them may
keep a gateway from starting or leaving.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.gateway.runtime_files.identity_files import read_plain_file

log = logging.getLogger(__name__)

CLEAN_END = ".clean_shutdown"
FAILURE_COUNTS = ".restart_failure_counts"
NOTIFY = ".restart_notify.json"
LOOP = "gateway/restart_loop.json"
LOOP_WINDOW_S = 60.0


class RestartFiles:
    """The restart files of one home.

    Args:
        home: The home; it must exist.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    def take_clean_end(self) -> bool:
        """Return whether the last run ended in order, and clear that mark."""
        try:
            (self._home / CLEAN_END).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            log.warning("%s cannot be removed: %s", CLEAN_END, error)
        return True

    def note_clean_end(self) -> None:
        """Record that this run ended in order."""
        self._write(CLEAN_END, "")

    def record_start(self, now: float) -> int:
        """Record a start that resumes chats; return the number of those in the last minute.

        Args:
            now: Seconds since the epoch.
        """
        boots = self._read(LOOP).get("boots")
        lately = [
            float(each)
            for each in (boots if isinstance(boots, list) else ())
            if isinstance(each, int | float) and 0 <= now - each < LOOP_WINDOW_S
        ]
        lately.append(now)
        self._write(LOOP, json.dumps({"boots": lately}))
        return len(lately)

    def failure_counts(self) -> dict[str, int]:
        """Return how often in a row each chat was interrupted."""
        return {
            key: count
            for key, count in self._read(FAILURE_COUNTS).items()
            if isinstance(count, int) and not isinstance(count, bool)
        }

    def set_failure_counts(self, counts: Mapping[str, int]) -> None:
        """Replace the counts; an empty mapping removes the file."""
        if counts:
            self._write(FAILURE_COUNTS, json.dumps(dict(counts)))
        else:
            self._remove(FAILURE_COUNTS)

    def store_notice_chat(self, chat: Mapping[str, str]) -> None:
        """Have the next run notify a chat that the gateway is back.

        Args:
            chat: ``platform``, ``chat_id``, ``chat_type``, perhaps ``thread_id``, ``message_id``.
        """
        self._write(NOTIFY, json.dumps(dict(chat)))

    def pop_notice_chat(self) -> dict[str, Any]:
        """Return and clear the chat to notify; empty when there is none."""
        chat = self._read(NOTIFY)
        self._remove(NOTIFY)
        return chat

    def _read(self, name: str) -> dict[str, Any]:
        try:
            data = json.loads(read_plain_file(self._home / name))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s cannot be read: %s", name, error)
            return {}
        return data if isinstance(data, dict) else {}

    def _write(self, name: str, text: str) -> None:
        path = self._home / name
        try:
            if path.parent != self._home:
                make_private_folder(path.parent, parents=False)
            write_text_atomic(path, text)
        except OSError as error:
            log.warning("%s cannot be written: %s", name, error)

    def _remove(self, name: str) -> None:
        try:
            (self._home / name).unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s cannot be removed: %s", name, error)
