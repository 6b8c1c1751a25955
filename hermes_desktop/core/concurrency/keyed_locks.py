"""Fair locks by key, each kept only while it is held or waited for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class WaitAbandonedError(Exception):
    """The wait for a key was abandoned."""


class KeyedLocks:
    """A lock per key that admits its waiters one at a time, in the order of their requests.

    Used on one event loop only.
    """

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}

    def is_held(self, key: str) -> bool:
        """Return whether acquiring this key now would have to wait."""
        return key in self._wanted

    @contextlib.asynccontextmanager
    async def hold(self, key: str, *, unless: asyncio.Event | None = None) -> AsyncIterator[None]:
        """Acquire the key, hold it for the block, then release it to the next waiter.

        Args:
            key: The key.
            unless: Ends the wait when it is set; a key that is already held is not released by it.

        Raises:
            WaitAbandonedError: ``unless`` was set before the key was free.
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
    """Acquire a lock, or give up once the event is set; never both.

    Raises:
        WaitAbandonedError: The event was set first.
    """
    acquiring = asyncio.ensure_future(lock.acquire())
    ending = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({acquiring, ending}, return_when=asyncio.FIRST_COMPLETED)
        if event.is_set():
            raise WaitAbandonedError  # noqa: TRY301 - given back like everything else that ends this
    except BaseException:
        if not acquiring.cancel():  # it has been acquired
            lock.release()
        raise
    finally:
        ending.cancel()
