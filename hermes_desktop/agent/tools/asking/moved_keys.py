"""Redirection from old chat keys to current ones.

In ``rpc`` the key of a chat is the id of its session, and a compacted session may continue under
a new id. Code that started before (a background task, a waiting thread) keeps the old one.
"""

import threading


class ChatKeyAliases:
    """A map from old keys to current ones. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now: dict[str, str] = {}

    def move(self, old_key: str, new_key: str) -> None:
        """Record that a chat continues under another key."""
        if old_key == new_key:
            return
        with self._lock:
            self._now = {at: new_key if to == old_key else to for at, to in self._now.items()}
            self._now[old_key] = new_key
            self._now.pop(new_key, None)

    def now(self, key: str) -> str:
        """Return the current key of a chat."""
        with self._lock:
            return self._now.get(key, key)
