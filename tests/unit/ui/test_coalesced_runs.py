"""Runs of the same work: never two at once, and requests during one lead to one more."""

import asyncio
import logging

import pytest

from hermes_desktop.core.errors import StateError
from hermes_desktop.ui.widgets.coalesced_runs import CoalescedRuns


class Work:
    """Work that waits at each run until it is told to go on."""

    def __init__(self) -> None:
        self.begun = 0
        self.running = 0
        self.gates: asyncio.Queue[Exception | None] = asyncio.Queue()

    async def __call__(self) -> None:
        self.begun += 1
        self.running += 1
        assert self.running == 1
        try:
            failure = await self.gates.get()
            if failure is not None:
                raise failure
        finally:
            self.running -= 1


@pytest.mark.asyncio
async def test_requests_during_a_run_lead_to_one_more() -> None:
    runs, work = CoalescedRuns(), Work()
    first = asyncio.ensure_future(runs.run(work))
    await asyncio.sleep(0)
    for _ in range(3):
        await runs.run(work)
    assert (work.begun, runs.wanted) == (1, True)
    work.gates.put_nowait(None)
    work.gates.put_nowait(None)
    await first
    assert (work.begun, runs.wanted) == (2, False)
    work.gates.put_nowait(None)
    await runs.run(work)
    assert work.begun == 3


@pytest.mark.asyncio
async def test_only_the_failure_of_the_last_run_is_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs, work = CoalescedRuns(), Work()
    first = asyncio.ensure_future(runs.run(work))
    await asyncio.sleep(0)
    await runs.run(work)
    with caplog.at_level(logging.WARNING):
        work.gates.put_nowait(StateError("outdated"))
        work.gates.put_nowait(StateError("the last one"))
        with pytest.raises(StateError, match="the last one"):
            await first
    assert "outdated" in caplog.text
    work.gates.put_nowait(None)
    await runs.run(work)  # a failure keeps nothing waiting
    assert (work.begun, runs.wanted) == (3, False)


@pytest.mark.asyncio
async def test_a_cancelled_run_is_not_repeated() -> None:
    runs, work = CoalescedRuns(), Work()
    first = asyncio.ensure_future(runs.run(work))
    await asyncio.sleep(0)
    await runs.run(work)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert work.begun == 1
    work.gates.put_nowait(None)
    await runs.run(work)
    assert (work.begun, runs.wanted) == (2, False)


@pytest.mark.asyncio
async def test_no_run_begins_while_it_is_held() -> None:
    runs, work = CoalescedRuns(), Work()
    runs.held = True
    await runs.run(work)
    assert (work.begun, runs.wanted) == (0, True)
    runs.held = False
    first = asyncio.ensure_future(runs.run(work))
    await asyncio.sleep(0)
    runs.held = True
    await runs.run(work)
    work.gates.put_nowait(None)
    await first
    assert (work.begun, runs.wanted) == (1, True)
