"""Supervision of long turns: their chat is notified, and an inactive turn is ended."""

import asyncio
import enum
from collections.abc import Awaitable, Callable

from hermes_desktop.core.clock import Clock
from hermes_desktop.gateway.config.config_running import RunningSettings
from hermes_desktop.gateway.turns.turn import TurnRecord


class Step(enum.Enum):
    """The step that is due for a long turn."""

    NEWS = "news"
    """Notify the chat that work continues."""
    WARNING = "warning"
    """Notify the chat that nothing has happened for long."""
    TIMEOUT = "timeout"
    """End the turn."""


class TurnWatch:
    """Schedule of the steps of a long turn. Times are monotonic seconds.

    Progress notices come after the configured time, then after twice, four times, … as long, so
    that an hour's work does not fill the chat.

    Args:
        record: The turn.
        settings: The time-outs; 0 switches a step off.
    """

    def __init__(self, record: TurnRecord, settings: RunningSettings) -> None:
        self._record = record
        self._settings = settings
        self._news_after = settings.notify_interval_s
        self._warned_of = -1.0

    def next(self) -> tuple[float, Step] | None:
        """Return the time and kind of the next step, as of now; None when there is none."""
        record, settings = self._record, self._settings
        steps: list[tuple[float, Step]] = []
        if settings.agent_timeout_s > 0:
            steps.append((record.seen_at + settings.agent_timeout_s, Step.TIMEOUT))
        if settings.agent_timeout_warning_s > 0 and self._warned_of != record.active_at:
            steps.append((record.seen_at + settings.agent_timeout_warning_s, Step.WARNING))
        if self._news_after > 0:
            steps.append((record.began_at + self._news_after, Step.NEWS))
        return min(steps, key=lambda step: step[0], default=None)

    def take(self, now: float) -> Step | None:
        """Return the step that is due now, once; None when none is."""
        due = self.next()
        if due is None or due[0] > now:
            return None
        if due[1] is Step.WARNING:
            self._warned_of = self._record.active_at
        elif due[1] is Step.NEWS:
            self._news_after *= 2
        return due[1]

    def words(self, step: Step, now: float) -> str:
        """Return the message of a step for the chat."""
        if step is Step.NEWS and self._record.waits:
            return f"I am still waiting for your answer ({_duration(now - self._record.began_at)})."
        if step is Step.NEWS:
            return f"I am still working on it ({_duration(now - self._record.began_at)})."
        silence = _duration(now - self._record.active_at)
        left = self._settings.agent_timeout_s - (now - self._record.active_at)
        end = f" I stop in {_duration(left)}." if self._settings.agent_timeout_s > 0 else ""
        return f"Nothing has happened for {silence}.{end} /stop ends it now."


async def watch(
    watched: TurnWatch,
    clock: Clock,
    tell: Callable[[str], Awaitable[None]],
    end: Callable[[], Awaitable[None]],
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Watch a turn until cancelled or until nothing is due any more.

    Args:
        watched: The turn.
        clock: The time source.
        tell: Sends its chat a message.
        end: Ends it.
        pause: Waits for the given number of seconds.
    """
    while (due := watched.next()) is not None:
        now = clock.monotonic()
        if due[0] > now:
            await pause(due[0] - now)
            continue
        step = watched.take(now)
        if step is Step.TIMEOUT:
            await end()
            return
        if step is not None:
            await tell(watched.words(step, now))


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes else f"{max(1, round(seconds))} s"
