"""Coroutines that are kept, threads that may be left behind."""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Iterator

import pytest

from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads

BOUND_S = 60.0


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Set at the end, so that no thread of a test outlives it."""
    event = threading.Event()
    yield event
    event.set()


def threads_of(name: str) -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith(f"{name}-")]


def join_all(name: str) -> None:
    for thread in threads_of(name):
        thread.join(BOUND_S)
    assert threads_of(name) == []


# --------------------------------------------------------------------------------------- threads


@pytest.mark.asyncio
async def test_calls_run_in_order_on_one_thread() -> None:
    workers = WorkerThreads("t-order")
    seen: list[int] = []
    await asyncio.gather(*(workers.run(seen.append, number) for number in range(50)))

    assert seen == list(range(50))
    assert len(threads_of("t-order")) == 1
    workers.close()
    join_all("t-order")


@pytest.mark.asyncio
async def test_results_and_errors_come_back() -> None:
    workers = WorkerThreads("t-results")

    assert await workers.run(pow, 2, 10) == 1024
    assert await workers.run(int, "ff", base=16) == 255
    with pytest.raises(ZeroDivisionError):
        await workers.run(lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(workers.run(next, iter(())), BOUND_S)
    workers.close()
    join_all("t-results")


@pytest.mark.asyncio
async def test_context_variables_go_along() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    workers = WorkerThreads("t-context")
    variable.set("set by the caller")

    assert await workers.run(variable.get) == "set by the caller"
    await workers.run(variable.set, "set by the call")
    assert variable.get() == "set by the caller"
    workers.close()
    join_all("t-context")


def test_as_many_at_once_as_allowed(release: threading.Event) -> None:
    workers = WorkerThreads("t-many", size=3)
    together = threading.Barrier(4)
    for _ in range(7):
        workers.submit(together.wait, BOUND_S)
    together.wait(BOUND_S)

    assert len(threads_of("t-many")) == 3
    together.wait(BOUND_S)
    workers.close()
    together.abort()
    join_all("t-many")


@pytest.mark.asyncio
async def test_a_missed_deadline_costs_the_thread_not_the_queue(release: threading.Event) -> None:
    workers = WorkerThreads("t-late")
    for _ in range(3):
        with pytest.raises(TimeoutError, match="t-late"):
            await workers.run_within(0.02, lambda: release.wait(BOUND_S))

    assert await workers.run_within(BOUND_S, lambda: "still served") == "still served"
    workers.close()
    release.set()
    join_all("t-late")


@pytest.mark.asyncio
async def test_a_late_thread_takes_no_more_calls(release: threading.Event) -> None:
    workers = WorkerThreads("t-back")
    with pytest.raises(TimeoutError):
        await workers.run_within(0.02, lambda: release.wait(BOUND_S))
    (late,) = threads_of("t-back")
    release.set()
    late.join(BOUND_S)

    assert not late.is_alive()
    assert await workers.run(threading.current_thread) is not late
    workers.close()
    join_all("t-back")


@pytest.mark.asyncio
async def test_a_call_that_is_given_up_is_left_behind(release: threading.Event) -> None:
    workers = WorkerThreads("t-given-up")
    given_up = asyncio.Event()
    assert await workers.run_unless(given_up, lambda: "in time") == "in time"
    hung = asyncio.ensure_future(workers.run_unless(given_up, lambda: release.wait(BOUND_S)))
    await asyncio.sleep(0)
    given_up.set()
    with pytest.raises(TimeoutError):
        await hung
    assert await workers.run(lambda: "still served") == "still served"
    workers.close()
    release.set()
    join_all("t-given-up")


@pytest.mark.asyncio
async def test_what_waits_behind_a_late_call_is_served(release: threading.Event) -> None:
    workers = WorkerThreads("t-behind")
    late = asyncio.ensure_future(workers.run_within(0.05, lambda: release.wait(BOUND_S)))
    await asyncio.sleep(0)
    behind = workers.submit(lambda: "served")

    with pytest.raises(TimeoutError):
        await late
    assert await asyncio.wait_for(asyncio.wrap_future(behind), BOUND_S) == "served"
    workers.close()
    release.set()
    join_all("t-behind")


@pytest.mark.asyncio
async def test_a_call_that_never_began_is_dropped(release: threading.Event) -> None:
    workers = WorkerThreads("t-queue")
    begun: list[str] = []
    workers.submit(release.wait, BOUND_S)

    with pytest.raises(TimeoutError):
        await workers.run_within(0.02, lambda: begun.append("late"))

    release.set()
    assert await workers.run(lambda: "next") == "next"
    assert begun == []
    assert len(threads_of("t-queue")) == 1
    workers.close()
    join_all("t-queue")


@pytest.mark.asyncio
async def test_a_timeout_of_the_call_itself_costs_nothing() -> None:
    workers = WorkerThreads("t-own")

    def fail() -> None:
        raise TimeoutError("the server did not answer")

    with pytest.raises(TimeoutError, match="the server did not answer"):
        await workers.run_within(BOUND_S, fail)

    (same,) = threads_of("t-own")
    assert await workers.run(threading.current_thread) is same
    workers.close()
    join_all("t-own")


def test_closing_finishes_what_is_queued(release: threading.Event) -> None:
    workers = WorkerThreads("t-close")
    seen: list[int] = []
    workers.submit(release.wait, BOUND_S)
    for number in range(3):
        workers.submit(seen.append, number)

    workers.close()
    workers.close()
    with pytest.raises(RuntimeError, match="t-close"):
        workers.submit(seen.append, 99)
    release.set()
    join_all("t-close")

    assert seen == [0, 1, 2]


# ----------------------------------------------------------------------------------------- tasks


@pytest.mark.asyncio
async def test_tasks_are_kept_and_forgotten() -> None:
    tasks = TaskSet()
    gate = asyncio.Event()
    task = tasks.start(gate.wait(), name="waiting")
    assert len(tasks) == 1

    gate.set()
    await task
    await asyncio.sleep(0)

    assert len(tasks) == 0


@pytest.mark.asyncio
async def test_a_failed_task_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    tasks = TaskSet()

    async def fail() -> None:
        raise RuntimeError("as if by mistake")

    task = tasks.start(fail(), name="doomed")
    with caplog.at_level(logging.ERROR):
        await asyncio.wait([task])
        await asyncio.sleep(0)

    assert "doomed" in caplog.text
    assert "as if by mistake" in caplog.text


@pytest.mark.asyncio
async def test_cancel_all_ends_them_and_spares_the_caller() -> None:
    tasks = TaskSet()
    ended: list[str] = []

    async def wait_for_ever(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    for name in ("a", "b"):
        tasks.start(wait_for_ever(name), name=name)
    await asyncio.sleep(0)

    await tasks.start(tasks.cancel_all(), name="closing")

    assert sorted(ended) == ["a", "b"]
