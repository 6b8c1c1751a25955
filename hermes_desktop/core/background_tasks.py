"""Coroutines that are kept, and named daemon threads for calls that block.

``concurrent.futures`` pools are joined at interpreter exit, so that one hung call keeps the
program alive; these threads are daemons, and a worker that misses its deadline is left behind
and replaced.
"""

import asyncio
import contextlib
import contextvars
import logging
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_Job = tuple["Future[Any]", contextvars.Context, Callable[[], Any]]


class TaskSet:
    """Keeps references to running tasks, logs what they raise, and can end them all."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Run a coroutine on the running loop and remember it until it ends."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def __len__(self) -> int:
        return len(self._tasks)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("Task %s failed", task.get_name(), exc_info=task.exception())

    async def wait_all(self, *, timeout: float) -> bool:
        """Wait for what runs, at most ``timeout`` seconds; whether all of it ended."""
        pending = [task for task in self._tasks if task is not asyncio.current_task()]
        if pending:
            await asyncio.wait(pending, timeout=timeout)
        return all(task.done() for task in pending)

    async def cancel_all(self, *, timeout: float = 5.0) -> None:
        """Cancel what runs and wait for it, at most ``timeout`` seconds."""
        pending = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending, timeout=timeout)


class WorkerThreads:
    """A few named daemon threads that run blocking calls in the order they came.

    Args:
        name: Prefix of the threads' names, as the architecture page lists them.
        size: How many calls may run at once; threads start when first needed.
    """

    def __init__(self, name: str, *, size: int = 1) -> None:
        self.name = name
        self._size = size
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        # Under the lock: a call that was taken and the thread that took it are still counted in
        # both until that thread says so, so that comparing the two is always right.
        self._backlog = 0
        self._idle = 0
        self._closed = False

    def submit(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Queue a call from any thread. Context variables of the caller go with it.

        Raises:
            RuntimeError: The workers are closed.
        """
        future: Future[T] = Future()
        context = contextvars.copy_context()
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self.name} is closed")
            self._jobs.put((future, context, lambda: call(*args, **kwargs)))
            self._backlog += 1
            self._start_thread_if_needed()
        return future

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await a blocking call. Cancelling the await does not stop the call itself."""
        return await asyncio.wrap_future(self.submit(call, *args, **kwargs))

    async def run_within(self, seconds: float, call: Callable[[], T]) -> T:
        """Await a blocking call, at most so long.

        A call that misses its deadline keeps its thread, which is given up and replaced.

        Raises:
            TimeoutError: The call did not end in time.
        """
        future = self.submit(call)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError:
            if not future.cancel():
                self._abandon_one()
            raise

    def close(self) -> None:
        """Take no more calls; threads end after what is queued. Never waits."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for _ in range(self._threads):
                self._jobs.put(None)

    def _abandon_one(self) -> None:
        with self._lock:
            self._threads -= 1
            if not self._closed:
                self._start_thread_if_needed()

    def _start_thread_if_needed(self) -> None:
        if self._backlog <= self._idle or self._threads >= self._size:
            return
        self._threads += 1
        self._idle += 1
        threading.Thread(
            target=self._work, name=f"{self.name}-{self._threads}", daemon=True
        ).start()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            with self._lock:
                self._idle -= 1
                self._backlog -= 1
            _run_job(job)
            del job  # else the last result lives until the next call
            with self._lock:
                self._idle += 1


def _run_job(job: _Job) -> None:
    future, context, call = job
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = context.run(call)
    except BaseException as error:  # noqa: BLE001 - handed to whoever awaits it
        with contextlib.suppress(Exception):
            future.set_exception(error)
    else:
        with contextlib.suppress(Exception):
            future.set_result(result)
