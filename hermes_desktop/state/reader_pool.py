"""Read connections, one per query that runs at the same time."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from hermes_desktop.state.connection import Access, open_reader
from hermes_desktop.state.schema import FileLayout

_KEPT = 4


class ReaderPool:
    """Lends connections that refuse to write. Thread-safe; opens them when needed.

    Args:
        path: The file.
        access: How to open it.
        layout: What it has; columns it lacks are read as their defaults.
    """

    def __init__(self, path: Path, access: Access, layout: FileLayout) -> None:
        self._path = path
        self._access: Access = access
        self.layout = layout
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextlib.contextmanager
    def lend(self) -> Iterator[sqlite3.Connection]:
        """A connection for the length of a ``with`` block.

        Raises:
            sqlite3.Error: It cannot be opened.
        """
        with self._lock:
            conn = self._idle.pop() if self._idle else None
        if conn is None:
            conn = open_reader(self._path, self._access, self.layout)
        try:
            yield conn
        finally:
            self._take_back(conn)

    def _take_back(self, conn: sqlite3.Connection) -> None:
        if conn.in_transaction:  # an error left it open; it would hold back the log for ever
            with contextlib.suppress(sqlite3.Error):
                conn.execute("ROLLBACK")
        with self._lock:
            if not self._closed and len(self._idle) < _KEPT:
                self._idle.append(conn)
                return
        conn.close()

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for conn in idle:
            conn.close()
