"""Time limits for coroutines that may ignore cancellation."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

GRACE_S = 1.0
"""How long a coroutine may take to end after it was cancelled."""


class BoundedCalls:
    """A runner of adapters' coroutines with a deadline; one that ignores it is abandoned.

    Args:
        grace_s: How long to wait for a cancelled coroutine.
    """

    def __init__(self, *, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._abandoned: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        """Return the number of abandoned coroutines that still run."""
        return len(self._abandoned)

    async def ended(self) -> None:
        """Wait until all abandoned coroutines have ended."""
        while self._abandoned:
            await asyncio.wait(set(self._abandoned))
            await asyncio.sleep(0)  # done callbacks run after the task has ended

    async def within(self, seconds: float, coroutine: Coroutine[Any, Any, T], *, doing: str) -> T:
        """Await a coroutine for a bounded time.

        Args:
            seconds: The deadline.
            coroutine: What to await; it runs as a task of its own.
            doing: What it does, for the log.

        Raises:
            TimeoutError: It did not end in time. It was cancelled, but may still run.
            Exception: Whatever it raised.
        """
        task = asyncio.get_running_loop().create_task(coroutine, name=doing)
        try:
            await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            await self._end(task, doing)
            raise
        if task.cancelled():  # not by us: must not look as if the caller had been cancelled
            raise RuntimeError(f"{doing} was cancelled")
        if task.done():
            return task.result()
        await self._end(task, doing)
        raise TimeoutError(f"{doing} took longer than {seconds:g} s")

    async def _end(self, task: "asyncio.Task[Any]", doing: str) -> None:
        if task.done():
            return
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task}, timeout=self._grace_s)
        if not task.done():
            log.error("%s hangs and was left behind", doing)
            self._abandoned.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._abandoned.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.info("%s failed after it was abandoned: %s", task.get_name(), task.exception())
