"""One open state.db: the writer, the readers, and the handling of a replaced file."""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from hermes_desktop.core.errors import StateReadOnlyError, StateUnavailableError
from hermes_desktop.state.database import connection, schema, widening
from hermes_desktop.state.database.connection import (
    Access,
    FileIdentity,
    FolderChangeCheck,
    Patience,
    abandon,
    identify,
    open_reader,
)
from hermes_desktop.state.database.holders import other_holders
from hermes_desktop.state.database.home_marks import HomeMarkReader
from hermes_desktop.state.database.schema import SCHEMA_VERSION, FileLayout
from hermes_desktop.state.database.store_opening import OpenStore, judge, open_store
from hermes_desktop.state.records.records import StoreCondition
from hermes_desktop.state.records.sqlite_errors import (
    is_bad_text,
    lacks_room,
    to_hermes_error,
    violates_constraint,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
_ONCE = Patience(attempts=1)


_KEPT = 4
"""How many idle read connections are kept open."""


class _TablesChangedError(Exception):
    """The schema differs from the one that was checked; nothing was written."""


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


class StoreFile:
    """Read and write access to one file, from any thread. Starts no thread.

    Before each call the path is checked: if it refers to another file, all connections are
    reopened, because continuing to write would mix the old log into the new file.

    Args:
        path: The file; created when it is missing, unless ``read_only``.
        patience: How long writes wait for other programs.
        on_replaced: Called after the connections were reopened.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool,
        patience: Patience,
        on_replaced: Callable[[], None],
    ) -> None:
        self.path = path
        self._name = str(path)
        self.lock = threading.Lock()
        self._read_only = read_only
        self._patience = patience
        self._on_replaced = on_replaced
        self._closed = False
        self._folder = FolderChangeCheck(path)
        self._home = HomeMarkReader(path)
        self._take(self._open())

    def _open(self) -> OpenStore:
        return open_store(
            self.path, read_only=self._read_only, patience=self._patience, home=self._home
        )

    def _take(self, opened: OpenStore) -> None:
        self.conn = opened.conn
        self.condition = opened.condition
        self._access = opened.access
        self._was_full = opened.access == "immutable" and connection.may_write(self.path)
        self._marks = self._home.marks()
        self._schema_state = schema.schema_state(opened.conn)
        self._identity = opened.identity
        self._readers = ReaderPool(self.path, opened.access, opened.layout)
        self._note_readiness()
        if self.condition.writable:
            self._mark_messages()

    def _mark_messages(self) -> None:
        """Mark unmarked messages; tried once, left to the next opening while the file is locked."""
        try:
            if widening.has_unmarked_messages(self.conn, self.layout):
                connection.write(self.conn, self._guarded(widening.mark_messages), _ONCE)
        except (sqlite3.OperationalError, _TablesChangedError) as error:
            log.warning("Messages without a mark could not be mended in %s: %s", self.path, error)

    @property
    def layout(self) -> FileLayout:
        """The schema of the file."""
        return self._readers.layout

    def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query on a connection that refuses to write. ``fn`` must not keep cursors.

        Raises:
            BusyError: Another program keeps the file locked.
            StateError: The file cannot be read.
        """
        if self._folder.is_unchanged():
            self._require_open()
        else:
            self._follow_file(missing_is_error=False)
        try:
            if not self._is_settled:
                self._follow_migration()
            with self._readers.lend() as conn:
                try:
                    return fn(conn)
                except sqlite3.OperationalError as error:
                    if not is_bad_text(error):
                        raise
                    return _leniently(conn, fn)
        except sqlite3.Error as error:
            raise to_hermes_error(error, self.path) from error

    def write(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``fn`` in a write transaction; it may run more than once, and only uses its argument.

        The transaction itself checks that the schema is still the one that was judged: a file that
        another program has just taken over is left unchanged.

        Raises:
            StateReadOnlyError: The file may not be written; the message says why.
            BusyError: Another program kept it locked, for about 20 s.
            StateError: Disk full, damage and the like; nothing was changed.
            sqlite3.IntegrityError: ``fn`` violated a constraint of the tables.
        """
        if not self._folder.is_unchanged():
            self._follow_file(missing_is_error=True)
        with self.lock:
            if self._closed:
                self._require_open()
            try:
                while True:
                    try:
                        self._make_ready()
                        return connection.write(self.conn, self._guarded(fn), self._patience)
                    except _TablesChangedError:
                        self._judge_again()
            except sqlite3.Error as error:
                if violates_constraint(error):
                    raise
                raise to_hermes_error(error, self.path) from error

    def outside(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``fn`` on the writing connection outside a transaction, for work that needs none.

        Raises:
            StateReadOnlyError: The file may not be written.
            BusyError: Another program kept it locked.
            StateError: As in :meth:`write`.
        """
        self._follow_file(missing_is_error=True)
        with self.lock:
            self._require_open()
            try:
                self._require_writable()
                return connection.retrying(lambda: fn(self.conn), self._patience)
            except sqlite3.Error as error:
                raise to_hermes_error(error, self.path) from error

    def look_again(self) -> StoreCondition:
        """Recheck whether the file may be written; cheap while nothing changed. Blocking.

        Raises:
            BusyError: Another program keeps the file locked.
            StateError: The file cannot be read.
        """
        self._follow_file(missing_is_error=False)
        with self.lock:
            self._require_open()
            try:
                self._home.marks(now=True)
                self._judge_again()
            except sqlite3.Error as error:
                raise to_hermes_error(error, self.path) from error
        return self.condition

    def require_writable(self) -> None:
        """Raise an error unless the file may be written.

        Raises:
            StateReadOnlyError: It may not; the message says why.
        """
        self.look_again()
        self._require_writable()

    def _make_ready(self) -> None:
        if self._home.marks() != self._marks:
            self._judge_again()
        if not self._is_ready:
            self._require_writable()
            self._widen()

    def _guarded(self, fn: Callable[[sqlite3.Connection], T]) -> Callable[[sqlite3.Connection], T]:
        judged = self._schema_state[0]

        def run(conn: sqlite3.Connection) -> T:
            if schema.table_changes(conn) != judged:
                raise _TablesChangedError
            return fn(conn)

        return run

    @property
    def _is_settled(self) -> bool:
        """Whether the file has exactly the schema of this program, so no migration will follow."""
        return self.condition.writable and self.condition.schema_version == SCHEMA_VERSION

    def _note_readiness(self) -> None:
        self._is_ready = self._is_settled and not widening.needs_widening(self.layout)
        self.notes_activity = "sessions" in self.layout.columns and self.layout.notes_activity

    def _widen(self) -> None:
        if widening.needs_widening(self.layout):
            connection.write(self.conn, self._guarded(widening.widen), self._patience)
            self._judge_again()

    def _require_writable(self) -> None:
        if not self._is_settled:
            self._judge_again()
        if not self.condition.writable:
            title = self.condition.home.title or "Nothing can be saved here."
            raise StateReadOnlyError(title, self.condition.reason, self.condition.hint)

    def _follow_migration(self) -> None:
        """Detect that a file of an older version was migrated in the meantime."""
        with self.lock:
            self._require_open()
            self._judge_again()

    def _judge_again(self) -> None:
        if self._was_full and not lacks_room(self.path):
            self._change_access()
            return
        now, marks = schema.schema_state(self.conn), self._home.marks()
        if (now, marks) == (self._schema_state, self._marks):
            return
        layout = schema.read_layout(self.conn)
        condition = judge(self.conn, self.path, layout, self._access, marks)
        if condition.home.may_write != self.condition.home.may_write:
            self._change_access()
            return
        self.condition = condition
        self._schema_state, self._marks = now, marks
        self._readers.close()
        self._readers = ReaderPool(self.path, self._access, layout)
        self._note_readiness()

    def _change_access(self) -> None:
        """Reopen before the old connections are closed; closing the last one empties the log."""
        conn, readers = self.conn, self._readers
        self._take(self._open())
        readers.close()
        conn.close()

    def _require_open(self) -> None:
        if self._closed:
            raise StateUnavailableError("The session database is closed.", str(self.path))

    def _follow_file(self, *, missing_is_error: bool) -> None:
        before = self._folder.look()
        now = identify(self._name)
        if now is None and missing_is_error:
            raise StateUnavailableError(
                "The session database is missing.",
                f"{self.path} no longer exists.",
                "If a snapshot is being restored, try again in a moment.",
            )
        if now is None or now == self._identity:
            self._require_open()
            self._folder.trust(before if now is not None else None)
            return
        with self.lock:
            self._require_open()
            if self._identity is not None and self._identity.same_file(now):
                self._identity = now
                return
            self._let_go(now)
            self._take(self._open())
        self._on_replaced()

    def _let_go(self, now: FileIdentity) -> None:
        """Release the connections to the previous file; if opening fails, the next call retries."""
        before, self._identity = self._identity, None
        if before is None:
            return
        if before.same_main(now):
            self._readers.close()
            self.conn.close()
        else:
            self._readers.close(let_go=abandon)
            if before.wal_inode is not None and before.wal_inode == now.wal_inode:
                self._empty_stale_log()
            abandon(self.conn)

    def _empty_stale_log(self) -> None:
        """Empty the log of the old file, which is next to the new one and would be mixed into it.

        Its content is written to the old file, where it belongs and whose name is gone. Only when
        no other process has the log open: what other processes have already written to it is meant
        for the new file.
        """
        if other_holders(self.path).seen:
            return
        with contextlib.suppress(sqlite3.Error):
            self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close all connections; calling it again is harmless."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
            self._readers.close()
            self.conn.close()


def _leniently(conn: sqlite3.Connection, fn: Callable[[sqlite3.Connection], T]) -> T:
    """Run a query again on text that is not UTF-8; undecodable bytes become U+FFFD."""
    strict = conn.text_factory
    conn.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        return fn(conn)
    finally:
        conn.text_factory = strict
