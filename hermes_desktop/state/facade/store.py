"""The open file behind SessionDB, and the declaration of the thread on which a method runs.

The methods of ``SessionDB`` are plain functions whose first parameter is a :class:`Store`; they
contain no statements but pass its connection to the functions of the other packages. Each is
declared with :func:`reads` or :func:`writes`, which ``AsyncSessionDB`` follows.
"""

import sqlite3
import threading
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.state.database.connection import Patience
from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.database.store_file import StoreFile
from hermes_desktop.state.records.records import StoreCondition
from hermes_desktop.state.records.transcript_rows import SessionMarks
from hermes_desktop.state.sessions.list_order import NewestTimes
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

T = TypeVar("T")


F = TypeVar("F", bound=Callable[..., Any])


class Thread(Enum):
    """The threads on which ``AsyncSessionDB`` runs a method."""

    READ = "state-read"
    WRITE = "state-write"


def reads(method: F) -> F:
    """Declare that a method only reads: it may run concurrently with others."""
    vars(method)["thread"] = Thread.READ
    return method


def writes(method: F) -> F:
    """Declare that a method may write: such methods run in the order of their calls."""
    vars(method)["thread"] = Thread.WRITE
    return method


def thread_of(method: Callable[..., Any]) -> Thread:
    """Return the thread that a method declares."""
    thread: Thread = vars(method)["thread"]
    return thread


class Store:
    """One open state.db, and the desktop.db next to it. Any thread may use it. Starts no thread.

    Writes are short transactions on one connection. All methods may raise ``BusyError`` and
    ``StateError``.
    """

    def __init__(self, path: Path, *, read_only: bool, patience: Patience, clock: Clock) -> None:
        self.db_path = path
        self._clock = clock
        self._marks = SessionMarks()
        self._times = NewestTimes()
        self._pins_failing = False
        self._own = DesktopDatabase(path.parent / "desktop" / "desktop.db")
        self._file = StoreFile(
            path, read_only=read_only, patience=patience, on_replaced=self._forget
        )

    def _forget(self) -> None:
        """Drop what was kept in memory, because the path leads to another file now."""
        self._marks.clear()
        self._times.clear()

    @property
    def condition(self) -> StoreCondition:
        """Whether it may be written, and if not why."""
        return self._file.condition

    @reads
    def look_again(self) -> StoreCondition:
        """Recheck whether the file may be written. Blocking; cheap while nothing changed."""
        return self._file.look_again()

    @reads
    def require_writable(self) -> None:
        """Raise an error before work is started that would have to be written to a read-only file.

        Raises:
            StateReadOnlyError: The file may not be written; the message says why.
        """
        self._file.require_writable()

    @property
    def layout(self) -> FileLayout:
        """The tables and columns the file actually has."""
        return self._file.layout

    @reads
    def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query of this package on a read connection and return its result."""
        return self._file.read(fn)

    @reads
    def close(self) -> None:
        """Close the file. Calling it again is harmless."""
        self._file.close()
        self._own.close()

    @property
    def _conn(self) -> sqlite3.Connection:
        """The only connection that writes; hold ``_lock`` while using it."""
        return self._file.conn

    @property
    def _lock(self) -> threading.Lock:
        return self._file.lock

    @writes
    def _execute_write(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``fn(conn)`` in a write transaction and return its result.

        Inside, use only ``conn``, no method of this object: the lock is not re-entrant.
        """
        return self._file.write(fn)
