"""Coroutines that are kept, and named daemon threads for calls that block.

``concurrent.futures`` pools are joined at interpreter exit, so that one hung call keeps the
program alive; these threads are daemons, and a worker that misses its deadline is left behind
and replaced.
"""

import asyncio
import contextvars
import logging
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Job:
    """One queued call. The last two are read and written under the workers' lock."""

    call: Callable[[], Any]
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    future: "Future[Any]" = field(default_factory=Future)
    over: bool = False
    given_up: bool = False


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
        return self._queue(lambda: call(*args, **kwargs)).future

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await a blocking call. Cancelling the await does not stop the call itself."""
        return await asyncio.wrap_future(self.submit(call, *args, **kwargs))

    async def run_within(self, seconds: float, call: Callable[[], T]) -> T:
        """Await a blocking call, at most so long.

        A call that misses its deadline keeps its thread, which is given up and replaced.

        Raises:
            TimeoutError: The call did not end in time.
        """
        return await self._result_of(call, set(), seconds)

    async def run_unless(self, given_up: asyncio.Event, call: Callable[[], T]) -> T:
        """Await a blocking call until somebody gives it up; its thread is then replaced.

        Raises:
            TimeoutError: The call was given up.
        """
        waiting = asyncio.ensure_future(given_up.wait())
        try:
            return await self._result_of(call, {waiting}, None)
        finally:
            waiting.cancel()

    async def _result_of(
        self, call: Callable[[], T], ends: "set[asyncio.Future[Any]]", seconds: float | None
    ) -> T:
        """What a call returns, unless the time passes or one of the others ends before."""
        job = self._queue(call)
        result: asyncio.Future[T] = asyncio.wrap_future(job.future)
        try:
            await asyncio.wait(
                {result, *ends}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            result.cancel()
            raise
        if result.done():
            return result.result()
        result.cancel()
        if not job.future.cancel():
            self._give_up(job)
        raise TimeoutError(f"A call of {self.name} did not end in time and was left behind")

    def close(self) -> None:
        """Take no more calls; threads end after what is queued. Never waits."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for _ in range(self._threads):
                self._jobs.put(None)

    def _queue(self, call: Callable[[], Any]) -> _Job:
        job = _Job(call)
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self.name} is closed")
            self._jobs.put(job)
            self._backlog += 1
            self._start_thread_if_needed()
        return job

    def _give_up(self, job: _Job) -> None:
        """Count the thread of a running job no more; it ends by itself when the call does."""
        with self._lock:
            if job.over:
                return
            job.given_up = True
            self._threads -= 1
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
                with self._lock:
                    self._idle -= 1
                    self._threads -= 1
                return
            with self._lock:
                self._idle -= 1
                self._backlog -= 1
            _run_job(job)
            with self._lock:
                job.over = True
                if job.given_up:
                    return
                self._idle += 1
            del job  # else the last result lives until the next call


def _run_job(job: _Job) -> None:
    if not job.future.set_running_or_notify_cancel():
        return
    try:
        result = job.context.run(job.call)
    except StopIteration as error:
        # asyncio refuses to carry this one; whoever awaits would wait for ever.
        job.future.set_exception(RuntimeError(f"The call raised {error!r}"))
    except BaseException as error:  # noqa: BLE001 - handed to whoever awaits it
        job.future.set_exception(error)
    else:
        job.future.set_result(result)
