"""Immediate cancellation of a search, also while the full-text engine gathers its results.

That work takes few of SQLite's steps, so that a check every so many steps comes late, and a check
every few steps would have to wait for the GIL whenever the window is busy. An interrupt is noticed
whenever the engine reads the next page.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from hermes_desktop.state.records.cancellation import CancelSignal, StoppedError, stoppable
from hermes_desktop.state.records.sqlite_errors import primary_code

T = TypeVar("T")

_STEPS_BETWEEN_LOOKS = 1_000
_UNDER_WAY = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3"


class SearchCancelSignal:
    """A cancel signal for a search; any thread may set it, repeatedly."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wished = False
        self._conn: sqlite3.Connection | None = None

    def is_set(self) -> bool:
        """Return whether to stop."""
        return self._wished

    def set(self) -> None:
        """Stop the running query and all later ones."""
        with self._lock:
            self._wished = True
            if self._conn is not None:
                self._conn.interrupt()

    @contextlib.contextmanager
    def reaching(self, conn: sqlite3.Connection) -> Iterator[None]:
        """Let the signal interrupt this connection for the duration of a ``with`` block.

        Raises:
            StoppedError: The signal was set before.
        """
        # SQLite forgets an interrupt as soon as no statement is running: one that comes between two
        # statements would be lost. This statement runs throughout, and reads nothing.
        held = conn.execute(_UNDER_WAY)
        with self._lock:
            if self._wished:
                held.close()
                raise StoppedError
            self._conn = conn
        try:
            yield
        finally:
            with self._lock:
                self._conn = None
            held.close()


def ended_by(
    conn: sqlite3.Connection, fn: Callable[[sqlite3.Connection], T], cancel: CancelSignal | None
) -> T:
    """Run a query that ends within milliseconds when ``cancel`` is set.

    Args:
        conn: Connection for reading.
        fn: The query.
        cancel: A :class:`SearchCancelSignal`; any other signal is checked at intervals. None never
            stops it.

    Raises:
        StoppedError: The signal was set.
    """
    if not isinstance(cancel, SearchCancelSignal):
        return stoppable(conn, fn, cancel, steps=_STEPS_BETWEEN_LOOKS)
    with cancel.reaching(conn):
        try:
            return fn(conn)
        except sqlite3.OperationalError as error:
            if primary_code(error) == sqlite3.SQLITE_INTERRUPT:
                raise StoppedError from error
            raise
