"""The pause before a failed call is retried, and the note about it for the user."""

from datetime import timedelta

from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.failures import CallFailedError
from hermes_desktop.core.clock import Clock

WORTH_TELLING_S = 1.0
"""A shorter pause is over before a note could be read."""


def pause_before_retry(
    failure: CallFailedError, failed: int, retries: Retries, chance: float
) -> float | None:
    """Return the seconds until the next attempt, None when there is none.

    Args:
        failure: Why the last one failed.
        failed: How many retries there have been already.
        retries: How often, and how long.
        chance: A number in [0, 1), so that many refused clients do not retry at once.
    """
    if not failure.again or failed >= retries.count:
        return None
    pause: float = min(retries.base_s * 2**failed, retries.longest_s)
    pause += pause / 2 * chance
    if failure.wait_s is None:
        return pause
    return max(failure.wait_s, pause) if failure.wait_s <= retries.longest_asked_s else None


def told_pause(name: str, failure: CallFailedError, pause: float, clock: Clock) -> str:
    """Return the note about a pause for the user; "" for a short one.

    Args:
        name: The provider's name.
        failure: Why there is a pause.
        pause: How long it is, seconds.
        clock: Determines when it ends.
    """
    if pause < WORTH_TELLING_S:
        return ""
    until = clock.now() + timedelta(seconds=pause)
    # For a pause of a few seconds the minute is too coarse.
    when = f"at {until:%H:%M}" if pause >= 60 else f"at {until:%H:%M:%S}"  # noqa: PLR2004
    if failure.wait_s is not None and failure.wait_s >= WORTH_TELLING_S:
        return f"{name} asks to wait {_seconds(pause)}; trying again {when}."
    return f"{failure.error.title} Trying again {when}."


def _seconds(pause: float) -> str:
    minutes, seconds = divmod(round(pause), 60)
    if not minutes:
        return f"{seconds} s"
    return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
