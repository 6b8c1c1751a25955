"""One fair lock per name, kept only while somebody holds or wants it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class GivenUpError(Exception):
    """Whoever waited for a key does not want it any more."""


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
    async def hold(self, key: str, *, unless: asyncio.Event | None = None) -> AsyncIterator[None]:
        """Wait for the key, hold it for the block, let the next one through.

        Args:
            key: The key.
            unless: Ends the waiting when it is set; a key that is held is not given back by it.

        Raises:
            GivenUpError: It was set before the key was free.
        """
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._wanted[key] = self._wanted.get(key, 0) + 1
        try:
            if unless is None or not lock.locked():
                await lock.acquire()
            else:
                await acquire_unless(lock, unless)
            try:
                yield
            finally:
                lock.release()
        finally:
            self._wanted[key] -= 1
            if not self._wanted[key]:
                del self._wanted[key], self._locks[key]


async def acquire_unless(lock: asyncio.Lock | asyncio.Semaphore, event: asyncio.Event) -> None:
    """Acquire a lock, or give it up once the event is set; never both.

    Raises:
        GivenUpError: The event was set first.
    """
    acquiring = asyncio.ensure_future(lock.acquire())
    ending = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({acquiring, ending}, return_when=asyncio.FIRST_COMPLETED)
        if event.is_set():
            raise GivenUpError  # noqa: TRY301 - given back like everything else that ends this
    except BaseException:
        if not acquiring.cancel():  # it had been acquired
            lock.release()
        raise
    finally:
        ending.cancel()
