"""One fair lock per name, kept only while somebody holds or wants it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class KeyedLocks:
    """Lets holders of the same key through one at a time, in the order they asked.

    Used on one loop only.
    """

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}

    def is_held(self, key: str) -> bool:
        """Whether asking for this key now would mean waiting."""
        return key in self._wanted

    def has_waiters(self, key: str) -> bool:
        """Whether somebody waits for this key behind its holder."""
        return self._wanted.get(key, 0) > 1

    @contextlib.asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        """Wait for the key, hold it for the block, let the next one through."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._wanted[key] = self._wanted.get(key, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._wanted[key] -= 1
            if not self._wanted[key]:
                del self._wanted[key], self._locks[key]
