"""Calls of adapters end in time, whatever the adapter does."""

import asyncio

import pytest

from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from tests.support.waiting import until


async def answer(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def deaf(wakes: asyncio.Event) -> None:
    while not wakes.is_set():
        try:
            await wakes.wait()
        except asyncio.CancelledError:
            continue


@pytest.mark.asyncio
async def test_results_and_failures_pass() -> None:
    calls = BoundedCalls()
    assert await calls.within(5, answer(3), doing="x") == 3

    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await calls.within(5, fails(), doing="x")

    async def gives_itself_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="was cancelled"):
        await calls.within(5, gives_itself_up(), doing="Connecting")


@pytest.mark.asyncio
async def test_a_call_that_takes_too_long_is_cancelled() -> None:
    calls = BoundedCalls()
    with pytest.raises(TimeoutError, match="Connecting took longer"):
        await calls.within(0.01, asyncio.Event().wait(), doing="Connecting")
    assert len(calls) == 0


@pytest.mark.asyncio
async def test_a_call_that_hears_nothing_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    calls, wakes = BoundedCalls(grace_s=0.01), asyncio.Event()
    with pytest.raises(TimeoutError):
        await calls.within(0.01, deaf(wakes), doing="Leaving")
    assert "Leaving hangs" in caplog.text
    assert len(calls) == 1
    wakes.set()
    await until(lambda: len(calls) == 0)


@pytest.mark.asyncio
async def test_who_waits_may_be_cancelled() -> None:
    calls = BoundedCalls()
    ended = asyncio.Event()

    async def long() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(calls.within(60, long(), doing="x"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
