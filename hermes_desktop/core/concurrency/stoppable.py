"""Something that takes its time and that a person may stop waiting for."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hermes_desktop.core.errors import CancelledError

T = TypeVar("T")


class Stoppable:
    """Runs coroutines that may be given up. On the loop.

    Args:
        title: What is said when one was.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await it.

        Raises:
            CancelledError: A person did not wait.
            Exception: What it raises.
        """
        task = asyncio.ensure_future(work)
        self._running.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._running.discard(task)
            task.cancel()  # where the waiting itself was cancelled
        if task.cancelled():
            raise CancelledError(self._title, "You did not wait for the answer.")
        return task.result()

    def stop(self) -> None:
        """Give up what runs."""
        for task in self._running:
            task.cancel()
