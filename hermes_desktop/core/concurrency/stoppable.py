"""Long-running work that the user may stop waiting for."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hermes_desktop.core.errors import CancelledError

T = TypeVar("T")


class CancellableRunner:
    """A runner of coroutines that the user can cancel. Used on the loop.

    Args:
        title: The error's title when one was cancelled.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine.

        Raises:
            CancelledError: The user stopped waiting.
            Exception: Whatever the coroutine raised.
        """
        task = asyncio.ensure_future(work)
        self._running.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._running.discard(task)
            task.cancel()  # if the wait itself was cancelled
        if task.cancelled():
            raise CancelledError(self._title, "You stopped waiting for the answer.")
        return task.result()

    def stop(self) -> None:
        """Cancel the running coroutines."""
        for task in self._running:
            task.cancel()
