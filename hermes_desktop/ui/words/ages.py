"""Relative times as text, and how often such text has to be refreshed. No Qt."""

from collections.abc import Iterable

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_TWO = 2


def format_span(seconds: float) -> str:
    """Return a length of time in one unit: ``12 s``, ``5 min``, ``3 h``, ``2 days``."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < _TWO * _DAY:
        return f"{whole // _HOUR} h"
    return f"{whole // _DAY} days"


def format_ago(seconds: float) -> str:
    """Return an age such as ``12 s ago``; moments in the future (clock skew) are "just now"."""
    return f"{format_span(seconds)} ago" if seconds >= 1 else "just now"


def format_until(seconds: float) -> str:
    """Return the time until a moment: ``in 12 s``, or ``now``."""
    return f"in {format_span(seconds)}" if seconds >= 1 else "now"


def refresh_interval_ms(distances: Iterable[float]) -> int:
    """Return in how many milliseconds text about these distances should be refreshed.

    The interval is one second while a distance is below a minute, because the text then changes
    every second, and longer after that.

    Args:
        distances: Seconds from now, in either direction.

    Returns:
        Milliseconds; 0 without any distances.
    """
    nearest = min((abs(each) for each in distances), default=None)
    if nearest is None:
        return 0
    if nearest < _MINUTE:
        return 1_000
    return 5_000 if nearest < 10 * _MINUTE else 30_000
