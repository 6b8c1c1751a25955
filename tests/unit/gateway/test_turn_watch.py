"""Keeping an eye on a turn that takes long."""

import pytest

from hermes_desktop.gateway.config.gateway_config import RunningSettings
from hermes_desktop.gateway.runner.control import TurnWatch, watch
from hermes_desktop.gateway.turns.turn import TurnRecord
from tests.fakes.clock import MovableClock


def record_at(clock: MovableClock) -> TurnRecord:
    now = clock.monotonic()
    return TurnRecord("t", "k", "text", began_at=now, active_at=now)


class Life:
    """A turn that is watched while time passes; what was told and done, with the seconds."""

    def __init__(self, settings: RunningSettings, *, active_every_s: float | None = None) -> None:
        self.clock = MovableClock()
        self.record = record_at(self.clock)
        self.settings = settings
        self.seen: list[tuple[int, str]] = []
        self._every = active_every_s

    async def pause(self, seconds: float) -> None:
        self.clock.advance(seconds)
        if self._passed() > 20_000:
            self.settings = RunningSettings()
            raise TimeoutError
        if self._every is not None:
            self.record.active_at += (seconds // self._every) * self._every

    async def tell(self, text: str) -> None:
        self.seen.append((self._passed(), text))

    async def end(self) -> None:
        self.seen.append((self._passed(), "END"))

    def _passed(self) -> int:
        return round(self.clock.monotonic() - self.record.began_at)

    async def live(self) -> list[tuple[int, str]]:
        watched = TurnWatch(self.record, self.settings)
        try:
            await watch(watched, self.clock, self.tell, self.end, self.pause)
        except TimeoutError:
            self.seen.append((20_000, "…"))
        return self.seen


@pytest.mark.asyncio
async def test_a_silent_turn_is_warned_of_and_ended() -> None:
    assert await Life(RunningSettings()).live() == [
        (180, "I am still working on it (3 min)."),
        (360, "I am still working on it (6 min)."),
        (720, "I am still working on it (12 min)."),
        (
            900,
            (
                "There has been no activity for 15 min. I will stop in 15 min. "
                "To stop now, send /stop."
            ),
        ),
        (1440, "I am still working on it (24 min)."),
        (1800, "END"),
    ]


@pytest.mark.asyncio
async def test_a_turn_that_works_is_left_alone() -> None:
    seen = await Life(RunningSettings(notify_interval_s=0), active_every_s=10).live()
    assert seen == [(20_000, "…")]


@pytest.mark.asyncio
async def test_everything_can_be_switched_off() -> None:
    settings = RunningSettings(agent_timeout_s=0, agent_timeout_warning_s=0, notify_interval_s=0)
    assert await Life(settings).live() == []
    only_warned = RunningSettings(
        agent_timeout_s=0, agent_timeout_warning_s=20, notify_interval_s=0
    )
    assert await Life(only_warned).live() == [
        (20, "There has been no activity for 20 s. To stop now, send /stop.")
    ]


def test_a_step_is_taken_once_and_a_silence_that_ends_is_watched_anew() -> None:
    clock = MovableClock()
    record = record_at(clock)
    watched = TurnWatch(record, RunningSettings(notify_interval_s=0))
    assert watched.take(clock.monotonic()) is None
    clock.advance(900)
    assert watched.take(clock.monotonic()) is not None
    assert watched.take(clock.monotonic()) is None
    record.active_at = clock.monotonic()
    clock.advance(900)
    assert watched.take(clock.monotonic()) is not None
