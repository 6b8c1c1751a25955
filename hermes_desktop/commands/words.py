"""Formatting helpers for answers: counts, times, excerpts."""

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.usage import Cost

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def ago(stamp: float, clock: Clock) -> str:
    """Return how long ago a moment was."""
    passed = max(0, int(clock.time() - stamp))
    if passed < _MINUTE:
        return "just now"
    if passed < _HOUR:
        return f"{passed // _MINUTE} min ago"
    if passed < _DAY:
        return f"{passed // _HOUR} h ago"
    return f"{count(passed // _DAY, 'day')} ago"


def first_words(text: str, most: int = 80) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: most * 10].split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def lines(*parts: str) -> str:
    """Join the non-empty parts with line breaks."""
    return "\n".join(part for part in parts if part)


def items(*parts: str) -> str:
    """Format the non-empty parts as a Markdown list."""
    return "\n".join(f"- {part}" for part in parts if part)


def cost_words(cost: Cost) -> str:
    """Format costs as ``0.2500 US dollars``, ``at least about …``, or ``not known``, never zero."""
    if cost.usd is None:
        return "unknown"
    least = "at least " if cost.partial else ""
    about = "about " if cost.estimated else ""
    return f"{least}{about}{cost.usd:.4f} US dollars"
