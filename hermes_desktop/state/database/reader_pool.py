"""Read connections, one per query that runs at the same time."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from hermes_desktop.state.database.connection import Access, open_reader
from hermes_desktop.state.database.schema import FileLayout

_KEPT = 4


def _close(conn: sqlite3.Connection) -> None:
    conn.close()


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
        self._let_go: Callable[[sqlite3.Connection], None] | None = None

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
            let_go = self._let_go
            if let_go is None and len(self._idle) < _KEPT:
                self._idle.append(conn)
                return
        (let_go or _close)(conn)

    def close(self, *, let_go: Callable[[sqlite3.Connection], None] = _close) -> None:
        """Close what is idle now, and what is lent when it comes back.

        Args:
            let_go: What to do with a connection instead of closing it.
        """
        with self._lock:
            self._let_go = let_go
            idle, self._idle = self._idle, []
        for conn in idle:
            let_go(conn)
