"""Work that goes on as long as the gateway runs."""

import pytest

from hermes_desktop.gateway.runner.housekeeping import HEALTHY_S, MAX_RAPID_FAILURES, supervised
from tests.fakes.clock import MovableClock


class Pauses(list[float]):
    """Take no time and are noted."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.mark.asyncio
async def test_what_crashes_is_started_again_until_it_is_hopeless(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs: list[int] = []
    pauses = Pauses()

    async def work() -> None:
        runs.append(1)
        raise OSError("disk")

    await supervised("the work", work, MovableClock(), pause=pauses)
    assert len(runs) == MAX_RAPID_FAILURES
    assert pauses == [2.0, 4.0, 8.0, 16.0]
    assert "the work failed 5 times and is not retried" in caplog.text


@pytest.mark.asyncio
async def test_a_healthy_time_makes_earlier_crashes_count_no_more() -> None:
    clock, runs, pauses = MovableClock(), [0], Pauses()

    async def work() -> None:
        runs[0] += 1
        if runs[0] == 4:
            clock.advance(HEALTHY_S)
        if runs[0] < 8:
            raise OSError("disk")

    await supervised("the work", work, clock, pause=pauses)
    assert runs == [8]
    assert pauses == [2.0, 4.0, 8.0, 2.0, 4.0, 8.0, 16.0]
