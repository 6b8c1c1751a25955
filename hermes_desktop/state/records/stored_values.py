"""Conversion of stored values to the type their column should have.

SQLite accepts a text in a numeric column, and bytes in any column. One such row, written by another
program, must not make the whole list fail.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hermes_desktop.state.records.content_codec import decode_json, epoch

IMPORTED_FOLDER = "_imported_cwd"
"""Key of ``model_config`` for the working folder that an imported session had elsewhere."""

LATEST_SECONDS = 1e11
"""Greater numbers, in the year 5138 and later, count finer units than seconds."""

_LONGEST_TITLE = 1000
_FINER_UNITS = ((1e14, 1e3), (1e17, 1e6), (1e20, 1e9))


def as_text(value: Any) -> str | None:
    """Return any stored value as text, None for NULL."""
    if value is None or isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def as_title(value: Any) -> str | None:
    """Return a stored title, truncated to a length that lists can show; the column has no limit."""
    title = as_text(value)
    return title if title is None or len(title) <= _LONGEST_TITLE else title[:_LONGEST_TITLE] + "…"


def as_seconds(value: Any, otherwise: float = 0.0) -> float:
    """Return a stored time as epoch seconds; ``otherwise`` for a value that is not a time.

    Milli-, micro- and nanoseconds are recognized by their size, ISO 8601 texts by their form; one
    without a time zone is taken as UTC, as SQLite's own date functions do.
    """
    if type(value) is float and -LATEST_SECONDS < value < LATEST_SECONDS:  # the usual case
        return value
    found = seconds_of(value)
    return otherwise if found is None else found


def seconds_of(value: Any) -> float | None:
    """Return epoch seconds as :func:`as_seconds` does; None for a value that is not a time."""
    found = iso_seconds(value) if isinstance(value, str) else epoch(value)
    if found is None or abs(found) < LATEST_SECONDS:
        return found
    for limit, unit in _FINER_UNITS:
        if abs(found) < limit:
            return found / unit
    return None


def iso_seconds(text: str) -> float | None:
    """Return the epoch seconds of an ISO 8601 time; None for any other text."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def seconds_sql(column: str) -> str:
    """Return an SQL expression for the result of :func:`as_seconds`, NULL where that has no result.

    It cannot use an index: to find rows that need it, query for values above ``LATEST_SECONDS``;
    text and bytes sort above all numbers in SQLite.
    """
    finer = " ".join(f"WHEN abs({column} + 0.0) < {limit} THEN {column} / {unit}"
                     for limit, unit in _FINER_UNITS)  # fmt: skip
    return (
        f"CASE typeof({column}) "
        f"WHEN 'text' THEN CAST(strftime('%s', trim({column})) AS REAL) WHEN 'blob' THEN NULL "
        f"ELSE CASE WHEN abs({column} + 0.0) < {LATEST_SECONDS} THEN {column} {finer} END END"
    )


def total_sql(column: str) -> str:
    """Return an SQL sum of whole numbers that no unexpected value can make fail."""
    return f"CAST(total({column}) AS INTEGER)"


def as_count(value: Any) -> int:
    """Return a stored count; 0 for a value that is not an integer."""
    return value if isinstance(value, int) else 0


def imported_folder(model_config: Any) -> str | None:
    """Return the folder an imported session had elsewhere; None for other sessions.

    Args:
        model_config: The column as it is stored.
    """
    config = model_config if isinstance(model_config, Mapping) else decode_json(model_config)
    folder = config.get(IMPORTED_FOLDER) if isinstance(config, Mapping) else None
    return folder if isinstance(folder, str) and folder else None
