"""Gaps in time, and how they are told."""

import asyncio
import time

import pytest

from hermes_desktop.gateway.platforms.base import LastHeard
from hermes_desktop.gateway.platforms.link_record import is_silent, silent_for, until_silent
from hermes_desktop.gateway.platforms.machine_watch import (
    SleepWatch,
    SuspendedTime,
    boot_clock,
    outage_notice,
    sleep_notice,
    span,
)
from hermes_desktop.gateway.platforms.reconnect import Backoff, LinkTiming
from tests.fakes.clock import MovableClock
from tests.fakes.platform import FakePlatform


class Clocks(MovableClock):
    """A machine's clocks that go apart."""

    def __init__(self) -> None:
        super().__init__()
        self.wall = self.boot = 0.0

    def time(self) -> float:
        return super().time() + self.wall

    def boot_time(self) -> float:
        return self.monotonic() + self.boot


def watch(clock: Clocks) -> SleepWatch:
    return SleepWatch(clock, boot_time=clock.boot_time)


def test_time_that_passes_as_it_should_is_no_gap() -> None:
    clock = Clocks()
    looking = watch(clock)
    for seconds in (5, 7, 20):
        clock.advance(seconds)
        assert looking.look() is None


@pytest.mark.parametrize("which", ["boot", "wall", "both", "stood still"])
def test_whichever_clock_went_further_tells(which: str) -> None:
    clock = Clocks()
    looking = watch(clock)
    clock.advance(5)
    if which in {"boot", "both"}:
        clock.boot += 3600
    if which in {"wall", "both"}:
        clock.wall += 3600
    if which == "stood still":
        clock.advance(3600)
    gap = looking.look()
    assert gap == SuspendedTime(clock.time() - 3605, clock.time())
    assert gap.seconds == 3605
    assert looking.look() is None


def test_a_clock_that_is_set_back_tells_nothing() -> None:
    clock = Clocks()
    looking = watch(clock)
    clock.wall -= 7200
    assert looking.look() is None


@pytest.mark.asyncio
async def test_it_looks_by_itself() -> None:
    clock, gaps = Clocks(), []
    looking = SleepWatch(clock, boot_time=clock.boot_time, tick_s=0.005)
    task = asyncio.create_task(looking.run(gaps.append))
    await asyncio.sleep(0.02)
    clock.boot += 100
    async with asyncio.timeout(60):
        while not gaps:
            await asyncio.sleep(0.002)
    task.cancel()
    await asyncio.wait({task})
    assert len(gaps) == 1


def test_this_system_has_a_clock_that_goes_on_while_asleep() -> None:
    clock = boot_clock()
    assert clock is None or clock() >= time.monotonic() - 1


def test_words() -> None:
    gap = SuspendedTime(1_772_400_000.0, 1_772_400_000.0 + 34_500)
    began = time.strftime("%H:%M", time.localtime(gap.began_at))
    ended = time.strftime("%H:%M", time.localtime(gap.ended_at))
    assert span(gap) == f"{began} to {ended}"
    assert span(SuspendedTime(0, 200_000)).startswith(time.strftime("%Y-%m-%d", time.localtime(0)))
    notice = sleep_notice(gap, ["telegram", "matrix"], ["irc"])
    assert notice.title == f"Asleep from {began} to {ended}."
    assert notice.detail == (
        "Messages that the server kept are delivered: matrix, telegram. "
        "The server did not keep messages from that time: irc."
    )
    assert outage_notice("irc", gap, kept=False).level == "warning"
    assert outage_notice("irc", gap, kept=True).level == "info"


def test_silence_is_measured_by_the_clock_that_went_further() -> None:
    clock = Clocks()
    heard = LastHeard(clock.monotonic(), clock.time())
    clock.advance(10)
    assert silent_for(heard, clock) == 10
    clock.wall += 100
    assert silent_for(heard, clock) == 110
    clock.wall -= 1000
    assert silent_for(heard, clock) == 10


def test_when_silence_begins() -> None:
    clock, adapter = Clocks(), FakePlatform()
    connected = LastHeard(clock.monotonic(), clock.time())
    assert until_silent(adapter, connected, clock) is None
    clock.advance(10_000)
    assert not is_silent(adapter, connected, clock)
    adapter.expected_silence_s = 30.0
    assert is_silent(adapter, connected, clock)
    adapter.last_heard = LastHeard(clock.monotonic() - 10, clock.time() - 10)
    assert not is_silent(adapter, connected, clock)
    assert until_silent(adapter, connected, clock) == 20


def test_pauses_between_attempts() -> None:
    backoff = Backoff(LinkTiming())
    pauses = []
    for _ in range(6):
        backoff.failed(1000)
        pauses.append(backoff.next_try - 1000)
    assert pauses == [30, 60, 120, 240, 300, 300]
    backoff.connected()
    backoff.broke(2000)
    assert backoff.next_try == 2000
    backoff.broke(2059)
    assert backoff.next_try == 2089
    backoff.at_once()
    backoff.broke(2060)
    assert backoff.next_try == 2060
