"""What other programs may have put into a column, as the type the column should have had.

SQLite keeps a text in a column of numbers, and bytes in any column. One such row must not take the
whole list away.
"""

from datetime import UTC, datetime
from typing import Any

from hermes_desktop.state.records.content_codec import epoch

LATEST_SECONDS = 1e11
"""Greater numbers, in the year 5138 and later, count finer units than seconds."""

_LONGEST_TITLE = 1000
_FINER_UNITS = ((1e14, 1e3), (1e17, 1e6), (1e20, 1e9))


def as_text(value: Any) -> str | None:
    """Text of whatever is stored, None for nothing."""
    if value is None or isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def as_title(value: Any) -> str | None:
    """A stored title, cut where no list could show it any more; nothing limits the column."""
    title = as_text(value)
    return title if title is None or len(title) <= _LONGEST_TITLE else title[:_LONGEST_TITLE] + "…"


def as_seconds(value: Any, otherwise: float = 0.0) -> float:
    """Epoch seconds of a stored time; ``otherwise`` for a value that is no time.

    Milli-, micro- and nanoseconds are recognized by their size, ISO 8601 texts by their form; one
    without a time zone is taken as UTC, as SQLite's own date functions do.
    """
    if type(value) is float and -LATEST_SECONDS < value < LATEST_SECONDS:  # the usual case
        return value
    found = seconds_of(value)
    return otherwise if found is None else found


def seconds_of(value: Any) -> float | None:
    """Epoch seconds as in :func:`as_seconds`; None for a value that is no time."""
    found = iso_seconds(value) if isinstance(value, str) else epoch(value)
    if found is None or abs(found) < LATEST_SECONDS:
        return found
    for limit, unit in _FINER_UNITS:
        if abs(found) < limit:
            return found / unit
    return None


def iso_seconds(text: str) -> float | None:
    """Epoch seconds of an ISO 8601 time; None for any other text."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def seconds_sql(column: str) -> str:
    """SQL for what :func:`as_seconds` returns, NULL where that has no answer.

    It can use no index: to find rows that need it, ask for values above ``LATEST_SECONDS``, which
    text and bytes are in SQLite's order of types.
    """
    finer = " ".join(f"WHEN abs({column}) < {limit} THEN {column} / {unit}"
                     for limit, unit in _FINER_UNITS)  # fmt: skip
    return (
        f"CASE typeof({column}) "
        f"WHEN 'text' THEN CAST(strftime('%s', trim({column})) AS REAL) WHEN 'blob' THEN NULL "
        f"ELSE CASE WHEN abs({column}) < {LATEST_SECONDS} THEN {column} {finer} END END"
    )


def total_sql(column: str) -> str:
    """SQL for a sum of whole numbers that no odd value can make fail."""
    return f"CAST(total({column}) AS INTEGER)"


def as_count(value: Any) -> int:
    """A number of something; 0 for what is none."""
    return value if isinstance(value, int) else 0
