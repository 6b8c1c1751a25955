"""When a failed call is made again, and what the person is told meanwhile."""

from datetime import timedelta

from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.failures import CallFailedError
from hermes_desktop.core.clock import Clock

WORTH_TELLING_S = 1.0
"""A shorter pause is over before anybody has read about it."""


def pause_before_retry(
    failure: CallFailedError, failed: int, retries: Retries, chance: float
) -> float | None:
    """Seconds until the next attempt, None when there is none.

    Args:
        failure: Why the last one failed.
        failed: How many attempts were made again already.
        retries: How often, and how long.
        chance: A number in [0, 1), so that many who were refused do not come back at once.
    """
    if not failure.again or failed >= retries.count:
        return None
    pause: float = min(retries.base_s * 2**failed, retries.longest_s)
    pause += pause / 2 * chance
    if failure.wait_s is None:
        return pause
    return max(failure.wait_s, pause) if failure.wait_s <= retries.longest_asked_s else None


def told_pause(name: str, failure: CallFailedError, pause: float, clock: Clock) -> str:
    """What a person is told of a pause; "" for one that is not worth telling.

    Args:
        name: Who is asked.
        failure: Why there is a pause.
        pause: How long it is, seconds.
        clock: Says when it ends.
    """
    if pause < WORTH_TELLING_S:
        return ""
    until = clock.now() + timedelta(seconds=pause)
    # Of a pause of a few seconds the minute it ends in says nothing.
    when = f"at {until:%H:%M}" if pause >= 60 else f"at {until:%H:%M:%S}"  # noqa: PLR2004
    if failure.wait_s is not None and failure.wait_s >= WORTH_TELLING_S:
        return f"{name} asks to wait {_seconds(pause)}; trying again {when}."
    return f"{failure.error.title} Trying again {when}."


def _seconds(pause: float) -> str:
    minutes, seconds = divmod(round(pause), 60)
    if not minutes:
        return f"{seconds} s"
    return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
