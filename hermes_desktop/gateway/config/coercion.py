"""Coercion of hand-written configuration values; invalid values become the default."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


def as_bool(value: object, default: bool) -> bool:  # noqa: FBT001 - reads like int(value, base)
    """Return a boolean given as such or as one of the usual words; anything else is the default."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE:
        return True
    return False if word in _FALSE else default


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def as_optional_text(value: object) -> str | None:
    """Return the value as text, or None when it is missing or empty."""
    if value is None:
        return None
    return str(value) or None


def as_days(value: object, default: int) -> int:
    """Return a whole number of days; negative ones become 0, which turns the feature off."""
    try:
        return max(0, int(value))  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return default


LARGEST = 1e9
"""As seconds more than thirty years."""


def as_whole_number(value: object, *, default: int, low: int, high: int | None = None) -> int:
    """Return a whole number within bounds; anything else is the default."""
    if isinstance(value, bool):
        return default
    try:
        number = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return default
    return number if number >= low and (high is None or number <= high) else default


def as_number(value: object, *, default: float) -> float:
    """Return a finite, non-negative number; anything else is the default.

    A greater number than :data:`LARGEST` becomes that, because timers do not accept any number.
    """
    if isinstance(value, bool):
        return default
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return default
    return min(number, LARGEST) if math.isfinite(number) and number >= 0 else default


def as_path(value: object) -> Path | None:
    """Return a path that a file system can have; None for anything else."""
    return Path(value) if isinstance(value, str) and value and "\0" not in value else None


def as_texts(value: object, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return a list of texts, given as a list or a single text; anything else is the default."""
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, list | tuple) else default
