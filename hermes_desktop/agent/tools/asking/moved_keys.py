"""Chats that go on under another key, followed by what still knows the old one.

By ``rpc`` a chat goes by the id of its session, and a session that was shortened may go on under a
new id. What began before (a task beside it, a thread that asks) has the old one for good.
"""

import threading


class MovedKeys:
    """From old keys to present ones. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now: dict[str, str] = {}

    def move(self, old_key: str, new_key: str) -> None:
        """A chat goes on under another key."""
        if old_key == new_key:
            return
        with self._lock:
            self._now = {at: new_key if to == old_key else to for at, to in self._now.items()}
            self._now[old_key] = new_key
            self._now.pop(new_key, None)

    def now(self, key: str) -> str:
        """The present key of a chat."""
        with self._lock:
            return self._now.get(key, key)
