"""The session store for coroutines: its methods awaited, on worker threads."""

import asyncio
import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_desktop.core.background_tasks import WorkerThreads


class AsyncSessionStore:
    """Runs what can be called on a store off the loop; other attributes pass through.

    Args:
        store: The store, or any object with such methods.
        workers: Threads for it; None uses those of the loop.
    """

    def __init__(self, store: Any, *, workers: "WorkerThreads | None" = None) -> None:
        self._store = store
        self._workers = workers

    def __getattr__(self, name: str) -> Any:
        target = getattr(self._store, name)
        if not callable(target):
            return target
        workers = self._workers

        async def call(*args: Any, **kwargs: Any) -> Any:
            if workers is not None:
                return await workers.run(functools.partial(target, *args, **kwargs))
            return await asyncio.to_thread(target, *args, **kwargs)

        return call
