"""A pool of read connections, one per concurrent query."""

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
    """A pool of connections that refuse to write, opened on demand. Thread-safe.

    Args:
        path: The file.
        access: How to open it.
        layout: The file's tables; columns it lacks are read as their defaults.
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
        """Lend a connection for the duration of a ``with`` block.

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
        if conn.in_transaction:  # left open by an error; it would block log checkpoints
            with contextlib.suppress(sqlite3.Error):
                conn.execute("ROLLBACK")
        with self._lock:
            let_go = self._let_go
            if let_go is None and len(self._idle) < _KEPT:
                self._idle.append(conn)
                return
        (let_go or _close)(conn)

    def close(self, *, let_go: Callable[[sqlite3.Connection], None] = _close) -> None:
        """Close idle connections now, and lent ones when they are returned.

        Args:
            let_go: Called with each connection instead of closing it.
        """
        with self._lock:
            self._let_go = let_go
            idle, self._idle = self._idle, []
        for conn in idle:
            let_go(conn)
