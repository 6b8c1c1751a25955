"""Connections to one state.db: how they are opened, how a write transaction runs, which file it is.

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

from hermes_desktop.core.files.private_files import make_private_folder, open_private
from hermes_desktop.state.database.schema import (
    FileLayout,
    new_file_ddl,
    read_layout,
    reading_views,
)
from hermes_desktop.state.records.sqlite_errors import cannot_open, is_busy

T = TypeVar("T")

Access = Literal["rw", "ro", "immutable"]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a write waits for others.

    Attributes:
        attempts: How often a transaction is tried, about 20 s altogether by default.
        wait_s: How long SQLite itself waits within one attempt.
        pause_s: Shortest and longest random pause between attempts.
    """

    attempts: int = 18
    wait_s: float = 1.0
    pause_s: tuple[float, float] = (0.02, 0.15)


class FileIdentity(NamedTuple):
    """Which file stands behind the name. Another one means: reopen everything."""

    device: int
    inode: int
    wal_inode: int | None

    def same_main(self, other: "FileIdentity") -> bool:
        """Whether the database itself is one file, whatever became of its log."""
        return (self.device, self.inode) == (other.device, other.inode)

    def same_file(self, other: "FileIdentity") -> bool:
        """Whether both are one file; a log that was not there yet may have come since."""
        return self.same_main(other) and self.wal_inode in {None, other.wal_inode}


_abandoned: list[sqlite3.Connection] = []


def abandon(conn: sqlite3.Connection) -> None:
    """Never use and never close a connection whose file was replaced under its name.

    The new file shares the name of the log's index with the old one. Closing the old connection
    would drop the locks that the new connections of this process hold on it. A file is replaced
    once in a blue moon, so that a few descriptors stay open until the end.
    """
    _abandoned.append(conn)


def identify(path: Path | str) -> FileIdentity | None:
    """Look which file the name means now, without opening it. None: there is none."""
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


class QuietFolder:
    """Tells by one look at its folder that a name still means the same file.

    To make, rename or delete anything in a folder changes its time. To look at the log itself takes
    longer than to write into it: the system has just marked it as changed.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._folder = str(path.parent)
        # Elsewhere the time of a folder comes late; what a link leads to stands in another folder.
        self._usable = os.name == "posix" and not path.is_symlink()
        self._trusted: FolderLook | None = None

    def is_quiet(self) -> bool:
        """Whether nothing has happened in it since the look that was trusted."""
        trusted = self._trusted
        if trusted is None:
            return False
        try:
            found = os.stat(self._folder)  # noqa: PTH116 - see identify
        except OSError:
            return False
        return (found.st_mtime_ns, found.st_ino, found.st_dev) == trusted

    def look(self) -> FolderLook | None:
        """How it is now; call it before the look at the files that is to be trusted."""
        if not self._usable:
            return None
        try:
            found = os.stat(self._folder)  # noqa: PTH116 - see identify
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_dev

    def trust(self, before: FolderLook | None) -> None:
        """As long as the folder is so, the files are as they are known."""
        # Two changes within one tick of the clock have one time.
        settled = before is not None and time.time_ns() - before[0] > _TICK_NS
        self._trusted = before if settled else None


def may_write(path: Path) -> bool:
    """Whether the system would let us change this file and make its companions."""
    effective = os.access in os.supports_effective_ids
    return os.access(path, os.W_OK, effective_ids=effective) and os.access(
        path.parent, os.W_OK | os.X_OK, effective_ids=effective
    )


def make_file(path: Path) -> None:
    """Make an empty file that only its owner may read, and its folder if need be.

    The descriptor is closed before SQLite opens the file for the first time. A file that came
    into being meanwhile is kept.

    Raises:
        StateUnavailableError: The folder cannot be made or written.
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
        access: ``rw``; ``ro`` for a file that may not be written; ``immutable`` for one that
            nobody can write.
        wait_s: How long SQLite waits for a lock.

    Raises:
        sqlite3.Error: It cannot be opened or is no database.
    """
    mode = "mode=ro&immutable=1" if access == "immutable" else f"mode={access}"
    conn = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=wait_s,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        conn.row_factory = sqlite3.Row
        conn.execute("PRAGMA foreign_keys=ON")
        # The first read makes SQLite take the log, whose identity is stable from then on.
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
    """Give an empty file its tables, in one transaction; whoever comes second finds them made."""
    retrying(lambda: conn.execute("PRAGMA journal_mode=WAL").fetchall(), patience)

    def make(connection: sqlite3.Connection) -> None:
        if read_layout(connection).is_empty:
            for statement in new_file_ddl():
                connection.execute(statement)

    write(conn, make, patience)


def write(conn: sqlite3.Connection, fn: Callable[[sqlite3.Connection], T], patience: Patience) -> T:
    """Run ``fn`` in one short write transaction; on a lock try again, whatever the step.

    ``BEGIN IMMEDIATE`` matters: a transaction that reads first and writes later fails at once when
    somebody else committed in between, and no waiting helps.

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
    """Call again while the file is locked, with random pauses, a bounded number of times."""
    for _ in range(patience.attempts - 1):
        try:
            return call()
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
        step_aside(random.uniform(*patience.pause_s))  # noqa: S311 - no secret
    return call()


def step_aside(seconds: float) -> None:
    """Leave the file to others for a moment, on a worker thread and with no lock held."""
    time.sleep(seconds)  # noqa: TID251 - the one place that waits
