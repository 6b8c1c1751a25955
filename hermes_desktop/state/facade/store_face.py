"""Base classes of the parts of SessionDB: one file, its lock, its clock.

``SessionDB`` is composed of faces, one per subject. A face contains no statements: it passes its
connection to the functions of a module. Faces that write derive from :class:`WritingFace`;
``AsyncSessionDB`` runs their methods on the thread for writes.
"""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.state.database.connection import Patience
from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.database.store_file import StoreFile
from hermes_desktop.state.records.records import StoreCondition
from hermes_desktop.state.records.transcript_rows import SessionMarks
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

T = TypeVar("T")


class StoreReader:
    """Read access to one file; any thread may use it. Starts no thread.

    All methods may raise ``BusyError`` and ``StateError``.
    """

    def __init__(self, path: Path, *, read_only: bool, patience: Patience, clock: Clock) -> None:
        self.db_path = path
        self._clock = clock
        self._marks = SessionMarks()
        self._own = DesktopDatabase(path.parent / "desktop" / "desktop.db")
        self._file = StoreFile(
            path, read_only=read_only, patience=patience, on_replaced=self._marks.clear
        )

    @property
    def condition(self) -> StoreCondition:
        """Whether it may be written, and if not why."""
        return self._file.condition

    def look_again(self) -> StoreCondition:
        """Recheck whether the file may be written. Blocking; cheap while nothing changed."""
        return self._file.look_again()

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

    def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query of this package on a read connection and return its result."""
        return self._file.read(fn)

    def close(self) -> None:
        """Close the file. Calling it again is harmless."""
        self._file.close()
        self._own.close()


class WritingFace(StoreReader):
    """Write access to the file, always in a short transaction on the writing connection."""

    @property
    def _conn(self) -> sqlite3.Connection:
        """The only connection that writes; hold ``_lock`` while using it."""
        return self._file.conn

    @property
    def _lock(self) -> threading.Lock:
        return self._file.lock

    def _execute_write(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``fn(conn)`` in a write transaction and return its result.

        Inside, use only ``conn``, no method of this object: the lock is not re-entrant.
        """
        return self._file.write(fn)
