"""Ending long work early: SQLite asks now and then whether anybody still wants the answer."""

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from hermes_desktop.core.errors import CancelledError
from hermes_desktop.state.records.sqlite_errors import primary_code

T = TypeVar("T")

_STEPS_BETWEEN_LOOKS = 50_000
"""SQLite's own steps, about a millisecond's worth."""


class CancelSignal(Protocol):
    """What tells that nobody wants the answer any more; ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long piece of work is.

    Attributes:
        step: What is being done, for a person.
        done: How much of ``total`` is done, in pages, rows or checks.
    """

    step: str
    done: int
    total: int


OnProgress: TypeAlias = Callable[[Progress], None]


class StoppedError(Exception):
    """The work was cancelled while SQLite was at it."""


def silent(_: Progress) -> None:
    """Tell nobody."""


def stoppable(
    conn: sqlite3.Connection,
    fn: Callable[[sqlite3.Connection], T],
    cancel: CancelSignal | None,
    *,
    steps: int = _STEPS_BETWEEN_LOOKS,
) -> T:
    """Run a query that ends within milliseconds when ``cancel`` is set.

    Args:
        conn: To read with.
        fn: The query.
        cancel: Looked at now and then; None never stops it.
        steps: So many steps of SQLite lie between two looks.

    Raises:
        StoppedError: It was set.
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
    """Give up between two steps.

    Raises:
        CancelledError: The signal is set.
    """
    if cancel is not None and cancel.is_set():
        raise CancelledError(f"{what} was cancelled.", "Nothing was changed.")
