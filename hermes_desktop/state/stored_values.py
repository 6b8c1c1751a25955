"""What other programs may have put into a column, as the type the column should have had.

SQLite keeps a text in a column of numbers, and bytes in any column. One such row must not take the
whole list away.
"""

from typing import Any

from hermes_desktop.state.content_codec import epoch


def as_text(value: Any) -> str | None:
    """Text of whatever is stored, None for nothing."""
    if value is None or isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def as_seconds(value: Any, otherwise: float = 0.0) -> float:
    """Epoch seconds; ``otherwise`` for what is no moment."""
    if type(value) is float and value - value == 0.0:  # finite; by far the most frequent
        return value
    found = epoch(value)
    return otherwise if found is None else found


def as_count(value: Any) -> int:
    """A number of something; 0 for what is none."""
    return value if isinstance(value, int) else 0
