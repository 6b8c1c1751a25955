"""Cancellation of long queries: SQLite's progress handler checks a cancel signal."""

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from hermes_desktop.core.errors import CancelledError
from hermes_desktop.state.records.sqlite_errors import primary_code

T = TypeVar("T")

_STEPS_BETWEEN_LOOKS = 50_000
"""SQLite virtual machine steps between two checks, about a millisecond's worth."""


class CancelSignal(Protocol):
    """A signal that the result is no longer needed; ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Return whether to stop."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a long operation.

    Attributes:
        step: The current step, as text for the user.
        done: How much of ``total`` is done, in pages, rows or checks.
    """

    step: str
    done: int
    total: int


OnProgress: TypeAlias = Callable[[Progress], None]


class StoppedError(Exception):
    """The operation was cancelled while SQLite was running it."""


def silent(_: Progress) -> None:
    """Ignore progress reports."""


def stoppable(
    conn: sqlite3.Connection,
    fn: Callable[[sqlite3.Connection], T],
    cancel: CancelSignal | None,
    *,
    steps: int = _STEPS_BETWEEN_LOOKS,
) -> T:
    """Run a query that ends within milliseconds when ``cancel`` is set.

    Args:
        conn: Connection for reading.
        fn: The query.
        cancel: Checked at intervals; None never stops it.
        steps: SQLite steps between two checks.

    Raises:
        StoppedError: The signal was set.
    """
    if cancel is None:
        return fn(conn)
    conn.set_progress_handler(lambda: int(cancel.is_set()), steps)
    try:
        return fn(conn)
    except sqlite3.OperationalError as error:
        if primary_code(error) == sqlite3.SQLITE_INTERRUPT:
            raise StoppedError from error
        raise
    finally:
        with contextlib.suppress(sqlite3.Error):
            conn.set_progress_handler(None, 0)


def stop_if(cancel: CancelSignal | None, what: str) -> None:
    """Raise CancelledError between two steps if the signal is set.

    Raises:
        CancelledError: The signal is set.
    """
    if cancel is not None and cancel.is_set():
        raise CancelledError(f"{what} was cancelled.", "Nothing was changed.")
