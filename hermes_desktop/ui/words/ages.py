"""How long ago something was, in words, and when these words are to be looked at again. No Qt."""

from collections.abc import Iterable

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_TWO = 2


def span_words(seconds: float) -> str:
    """A length of time in one unit: ``12 s``, ``5 min``, ``3 h``, ``2 days``."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < _TWO * _DAY:
        return f"{whole // _HOUR} h"
    return f"{whole // _DAY} days"


def ago_words(seconds: float) -> str:
    """How long ago: ``12 s ago``; what lies ahead, by clocks that differ, is now."""
    return f"{span_words(seconds)} ago" if seconds >= 1 else "just now"


def until_words(seconds: float) -> str:
    """How long from now on: ``in 12 s``, or ``now``."""
    return f"in {span_words(seconds)}" if seconds >= 1 else "now"


def next_look_ms(distances: Iterable[float]) -> int:
    """When words about these distances (seconds from now, either way) are next worth a look.

    A second below a minute, for the words change then; later more seldom. 0 without any.
    """
    nearest = min((abs(each) for each in distances), default=None)
    if nearest is None:
        return 0
    if nearest < _MINUTE:
        return 1_000
    return 5_000 if nearest < 10 * _MINUTE else 30_000
