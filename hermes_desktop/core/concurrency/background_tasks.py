"""Task sets for coroutines, and named daemon worker threads for blocking calls.

``concurrent.futures`` pools are joined at interpreter exit, so one hung call keeps the program
alive. These threads are daemons, and a worker that misses its deadline is abandoned and replaced.

Everything a call references (its closure, its context, its result or exception) is released on
the thread of the event loop that started it. Otherwise a worker might drop the last reference to
a Qt object, and Qt crashes when an object is destroyed on a thread other than its own.
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
class _Content:
    """The objects that a queued call references.

    Attributes:
        waiter: The future that a coroutine awaits, if there is one.
    """

    call: Callable[[], Any]
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    future: "Future[Any]" = field(default_factory=Future)
    waiter: "asyncio.Future[Any] | None" = None


@dataclass(slots=True, eq=False)
class _Job:
    """One queued call. ``over`` and ``given_up`` are read and written under the workers' lock.

    When the call has ended, its worker references the job but none of its content, so that emptying
    the job releases the content on the thread that empties it.
    """

    content: _Content | None
    loop: asyncio.AbstractEventLoop | None
    over: bool = False
    given_up: bool = False

    def run(self) -> None:
        """Run the call and complete its future. Runs on the worker."""
        if self.content is not None:
            _run_call(self.content)

    def cancel(self) -> bool:
        """Cancel the call; return False if it has started already. Runs on the loop's thread."""
        return self.content is not None and self.content.future.cancel()

    def hand_back(self) -> None:
        """Schedule :meth:`settle` on the loop's thread. Runs on the worker, as the last step."""
        if self.loop is None:  # submitted by another worker
            return
        try:
            if not self.loop.is_closed():
                self.loop.call_soon_threadsafe(self.settle)
                return
        except RuntimeError:  # it has just been closed
            pass
        _never_released.append(self)

    def settle(self) -> None:
        """Resume the waiting coroutine and empty the job. Runs on the loop's thread."""
        content, self.content = self.content, None
        if content is not None and content.waiter is not None and not content.waiter.done():
            _copy_outcome(content.future, content.waiter)


_never_released: list[_Job] = []
"""Jobs that ended after their loop. The program is exiting, and no thread may release them."""


class TaskSet:
    """A set of running tasks: keeps references, logs exceptions, and can cancel all tasks."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Run a coroutine on the running loop and keep a reference until it ends."""
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
        """Wait up to ``timeout`` seconds for the running tasks; return whether all ended."""
        pending = [task for task in self._tasks if task is not asyncio.current_task()]
        if pending:
            await asyncio.wait(pending, timeout=timeout)
        return all(task.done() for task in pending)

    async def cancel_all(self, *, timeout: float = 5.0) -> None:
        """Cancel the running tasks and wait up to ``timeout`` seconds for them."""
        pending = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending, timeout=timeout)


class WorkerThreads:
    """A few named daemon threads that run blocking calls in order of submission.

    Args:
        name: Prefix of the threads' names, as the architecture page lists them.
        size: How many calls may run concurrently; threads are started when first needed.
    """

    def __init__(self, name: str, *, size: int = 1) -> None:
        self.name = name
        self._size = size
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        # Under the lock: a call that was taken and the thread that took it both remain counted
        # until that thread updates the counters, so the two can always be compared.
        self._backlog = 0
        self._idle = 0
        self._closed = False

    def submit(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Queue a call from any thread. It runs with the caller's context variables.

        Raises:
            RuntimeError: The workers are closed.
        """
        content = _Content(lambda: call(*args, **kwargs))
        self._queue(content)
        return content.future

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await a blocking call. Cancelling the await does not stop the call itself."""
        return await self._begin(lambda: call(*args, **kwargs))[1]

    async def run_within(self, seconds: float, call: Callable[[], T]) -> T:
        """Await a blocking call for a bounded time.

        A call that misses its deadline keeps its thread, which is abandoned and replaced.

        Raises:
            TimeoutError: The call did not end in time.
        """
        return await self._result_of(call, set(), seconds)

    async def run_unless(self, given_up: asyncio.Event, call: Callable[[], T]) -> T:
        """Await a blocking call until ``given_up`` is set; its thread is then replaced.

        Raises:
            TimeoutError: The call was abandoned.
        """
        waiting = asyncio.ensure_future(given_up.wait())
        try:
            return await self._result_of(call, {waiting}, None)
        finally:
            waiting.cancel()

    async def _result_of(
        self, call: Callable[[], T], ends: "set[asyncio.Future[Any]]", seconds: float | None
    ) -> T:
        """Return the result of a call, unless the time-out or one of ``ends`` comes first."""
        job, result = self._begin(call)
        try:
            await asyncio.wait(
                {result, *ends}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if result.done():
                return await result
            if not job.cancel():
                self._give_up(job)
            raise TimeoutError(f"A call of {self.name} did not end in time and was left behind")
        finally:
            result.cancel()
            del result  # the traceback of its exception has this frame: that would be a cycle

    def close(self) -> None:
        """Accept no more calls; threads end after the queued ones. Never blocks."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for _ in range(self._threads):
                self._jobs.put(None)

    def _begin(self, call: Callable[[], T]) -> "tuple[_Job, asyncio.Future[T]]":
        content = _Content(call)
        return self._queue(content), _waiter_of(content)

    def _queue(self, content: _Content) -> _Job:
        job = _Job(content, _running_loop())
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self.name} is closed")
            self._jobs.put(job)
            self._backlog += 1
            self._start_thread_if_needed()
        return job

    def _give_up(self, job: _Job) -> None:
        """Stop counting the thread of a running job; the thread ends when the call does."""
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
            job.run()
            with self._lock:
                job.over = True
                given_up = job.given_up
                if not given_up:
                    self._idle += 1
            job.hand_back()
            if given_up:
                return
            del job  # otherwise the last result lives until the next call


def _run_call(content: _Content) -> None:
    future = content.future
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(content.context.run(content.call))
    except StopIteration as error:
        # asyncio refuses to set this exception; a coroutine that awaits it would never resume.
        future.set_exception(RuntimeError(f"The call raised {error!r}"))
    except BaseException as error:  # noqa: BLE001 - handed to the caller
        future.set_exception(error)
    finally:
        del content, future  # the traceback of an exception has this frame: that would be a cycle


def _waiter_of(content: _Content) -> "asyncio.Future[Any]":
    """Return a future of the running loop that ends when the call does.

    Cancelling it drops a call that has not started.
    """
    content.waiter = asyncio.get_running_loop().create_future()
    content.waiter.add_done_callback(
        lambda waiter: content.future.cancel() if waiter.cancelled() else None
    )
    return content.waiter


def _copy_outcome(source: "Future[Any]", target: "asyncio.Future[Any]") -> None:
    if source.cancelled():
        target.cancel()
    elif (error := source.exception()) is not None:
        target.set_exception(error)
    else:
        target.set_result(source.result())


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
