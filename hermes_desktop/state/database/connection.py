"""Connections to one state.db: opening, write transactions, and the identity of the file.

The file and its two companions are never opened by anything but SQLite: closing another descriptor
would drop SQLite's locks, and what is committed afterwards could be lost.
"""

import contextlib
import os
import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from hermes_desktop.core.files.atomic_files import make_private_folder, open_private
from hermes_desktop.state.database.schema import (
    FileLayout,
    new_file_ddl,
    read_layout,
    reading_views,
)
from hermes_desktop.state.records.sqlite_errors import cannot_open, is_busy

T = TypeVar("T")

Access = Literal["rw", "ro", "immutable", "private"]
_MODES = {
    "rw": "mode=rw",
    "ro": "mode=ro",
    "immutable": "mode=ro&immutable=1",
    "private": "mode=ro&readonly_shm=1",
}


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits of a write's wait for locks of other connections.

    Attributes:
        attempts: How often a transaction is tried, about 20 s altogether by default.
        wait_s: How long SQLite itself waits within one attempt.
        pause_s: Shortest and longest random pause between attempts.
    """

    attempts: int = 18
    wait_s: float = 1.0
    pause_s: tuple[float, float] = (0.02, 0.15)


class FileIdentity(NamedTuple):
    """The identity of the file at a path. When it changes, all connections are reopened."""

    device: int
    inode: int
    wal_inode: int | None

    def same_main(self, other: "FileIdentity") -> bool:
        """Return whether both are the same database file, regardless of the log."""
        return (self.device, self.inode) == (other.device, other.inode)

    def same_file(self, other: "FileIdentity") -> bool:
        """Return whether both are the same file; a missing log may have been created since."""
        return self.same_main(other) and self.wal_inode in {None, other.wal_inode}


_abandoned: list[sqlite3.Connection] = []


def abandon(conn: sqlite3.Connection) -> None:
    """Keep a connection whose file was replaced: never use it again, and never close it.

    The log's index of the new file has the same name as that of the old one. Closing the old
    connection would drop the locks that the new connections of this process hold on it. A file is
    replaced very rarely, so a few descriptors stay open until the process ends.
    """
    _abandoned.append(conn)


def identify(path: Path | str) -> FileIdentity | None:
    """Return the identity of the file at a path without opening it; None if there is none."""
    name = str(path)
    try:
        main = os.stat(name)  # noqa: PTH116 - several times faster, and asked before each query
    except OSError:
        return None
    try:
        wal: int | None = os.stat(name + "-wal").st_ino  # noqa: PTH116
    except OSError:
        wal = None
    return FileIdentity(main.st_dev, main.st_ino, wal)


FolderLook = tuple[int, int, int]
_TICK_NS = 100_000_000


class FolderChangeCheck:
    """A cheap check, by the folder's modification time, that a path still refers to the same file.

    Creating, renaming or deleting anything in a folder changes its modification time. A stat of the
    log itself takes longer than writing to it, because the system has just marked it as changed.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._folder = str(path.parent)
        # On other systems a folder's time is updated late; a link's target is in another folder.
        self._usable = os.name == "posix" and not path.is_symlink()
        self._trusted: FolderLook | None = None

    def is_unchanged(self) -> bool:
        """Return whether the folder is unchanged since the trusted state."""
        trusted = self._trusted
        if trusted is None:
            return False
        try:
            found = os.stat(self._folder)  # noqa: PTH116 - see identify
        except OSError:
            return False
        return (found.st_mtime_ns, found.st_ino, found.st_dev) == trusted

    def look(self) -> FolderLook | None:
        """Return the folder's current state; call it before the check of the files to trust."""
        if not self._usable:
            return None
        try:
            found = os.stat(self._folder)  # noqa: PTH116 - see identify
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_dev

    def trust(self, before: FolderLook | None) -> None:
        """Trust the known file identity for as long as the folder keeps this state."""
        # Two changes within one clock tick have the same time.
        settled = before is not None and time.time_ns() - before[0] > _TICK_NS
        self._trusted = before if settled else None


def may_write(path: Path) -> bool:
    """Return whether the system lets this process change the file and create its companions."""
    effective = os.access in os.supports_effective_ids
    return os.access(path, os.W_OK, effective_ids=effective) and os.access(
        path.parent, os.W_OK | os.X_OK, effective_ids=effective
    )


def make_file(path: Path) -> None:
    """Create an empty file that only its owner may read, and its folder if necessary.

    The descriptor is closed before SQLite opens the file for the first time. A file that was
    created in the meantime is kept.

    Raises:
        StateUnavailableError: The folder cannot be created or written.
    """
    try:
        make_private_folder(path.parent)
        os.close(open_private(path, os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        if not path.is_file():
            raise cannot_open(path, "its place is taken by something else") from None
    except OSError as error:
        raise cannot_open(path, error.strerror or str(error)) from error


def open_connection(path: Path, access: Access, *, wait_s: float = 1.0) -> sqlite3.Connection:
    """Open one connection in autocommit mode, usable from any thread (one at a time).

    Args:
        path: The file, which must exist; any character is allowed in its name.
        access: ``rw``; ``ro`` for a file that may not be written, which still creates a log and its
            index; ``immutable`` for one that no process can write; ``private`` to change neither
            log nor index, which must exist: SQLite builds an index of its own in memory.
        wait_s: How long SQLite waits for a lock.

    Raises:
        sqlite3.Error: It cannot be opened or is not a database.
    """
    conn = sqlite3.connect(
        f"{path.absolute().as_uri()}?{_MODES[access]}",
        uri=True,
        timeout=wait_s,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        conn.row_factory = sqlite3.Row
        conn.execute("PRAGMA foreign_keys=ON")
        # The first read makes SQLite open the log, whose identity is stable from then on.
        conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except BaseException:
        conn.close()
        raise
    return conn


def open_reader(path: Path, access: Access, layout: FileLayout) -> sqlite3.Connection:
    """Open a connection for queries of schema 22 on a file of any version."""
    conn = open_connection(path, access)
    try:
        conn.execute("PRAGMA temp_store=MEMORY")
        for view in reading_views(layout):
            conn.execute(view)
        conn.execute("PRAGMA query_only=ON")
    except BaseException:
        conn.close()
        raise
    return conn


def initialise(conn: sqlite3.Connection, patience: Patience) -> None:
    """Create the tables of an empty file in one transaction, unless another process has done so."""
    retrying(lambda: conn.execute("PRAGMA journal_mode=WAL").fetchall(), patience)

    def make(connection: sqlite3.Connection) -> None:
        if read_layout(connection).is_empty:
            for statement in new_file_ddl():
                connection.execute(statement)

    write(conn, make, patience)


def write(conn: sqlite3.Connection, fn: Callable[[sqlite3.Connection], T], patience: Patience) -> T:
    """Run ``fn`` in one short write transaction; retry when any of its steps meets a lock.

    ``BEGIN IMMEDIATE`` matters: a transaction that reads first and writes later fails if another
    connection committed in between, and waiting does not help.

    Raises:
        sqlite3.Error: As SQLite raised it, after the last attempt. Nothing was changed.
    """
    for left in range(patience.attempts - 1, -1, -1):
        try:
            return _transaction(conn, fn)
        except sqlite3.OperationalError as error:
            if not left or not is_busy(error):
                raise
        step_aside(random.uniform(*patience.pause_s))  # noqa: S311 - no secret
    raise AssertionError("unreachable: the last attempt returns or raises")


def _transaction(conn: sqlite3.Connection, fn: Callable[[sqlite3.Connection], T]) -> T:
    conn.execute("BEGIN IMMEDIATE")
    try:
        result = fn(conn)
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                conn.execute("ROLLBACK")
        raise
    return result


def retrying(call: Callable[[], T], patience: Patience) -> T:
    """Retry a call while the file is locked, with random pauses, a bounded number of times."""
    for _ in range(patience.attempts - 1):
        try:
            return call()
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
        step_aside(random.uniform(*patience.pause_s))  # noqa: S311 - no secret
    return call()


def step_aside(seconds: float) -> None:
    """Pause to let other processes use the file; call it on a worker thread with no lock held."""
    time.sleep(seconds)  # noqa: TID251 - the one place that waits
