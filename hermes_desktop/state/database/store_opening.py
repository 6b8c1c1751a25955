"""Opening one state.db: created if missing, and checked before anything is written.

A file that is not understood is left as it is, byte for byte. One of an older version is read as it
is and widened before the first change; one of a newer version keeps its schema.
"""

import contextlib
import sqlite3
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_desktop.core.errors import BusyError, StateError, StateUnavailableError
from hermes_desktop.core.home_kind import HomeKind, HomeMarks, decide
from hermes_desktop.state.database import widening
from hermes_desktop.state.database.connection import (
    Access,
    FileIdentity,
    Patience,
    identify,
    initialise,
    make_file,
    may_write,
    open_connection,
    retrying,
)
from hermes_desktop.state.database.holders import foreign_holders, other_holders
from hermes_desktop.state.database.home_marks import HomeMarkReader, has_marks, tables_have_marks
from hermes_desktop.state.database.schema import SCHEMA_VERSION, FileLayout, read_layout
from hermes_desktop.state.records.records import StoreCondition
from hermes_desktop.state.records.sqlite_errors import (
    cannot_open,
    is_disk_full,
    not_a_database,
    primary_code,
    to_hermes_error,
)

_UNREACHABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}
_MIGRATE = "Run `hermes sessions stats` once with the current hermes-agent to update it."
_HOW_TO_BEGIN = (
    'Start one in the window or with `hermes-desktop chat -q "Hello"`, or choose another '
    "home with --profile or HERMES_HOME."
)


@dataclass(frozen=True, slots=True)
class OpenStore:
    """An opened file and its properties."""

    conn: sqlite3.Connection
    access: Access
    layout: FileLayout
    condition: StoreCondition
    identity: FileIdentity | None


def open_store(
    path: Path, *, read_only: bool, patience: Patience, home: HomeMarkReader | None = None
) -> OpenStore:
    """Open the file for writing where possible, else for reading.

    Where only another program may write, the file is opened for reading only: even closing a
    connection that could write may move the content of the log.

    Args:
        path: The file.
        read_only: Never create or write anything.
        patience: How long to wait for other processes.
        home: The marks outside the file; None to read them afresh.

    Raises:
        StateUnavailableError: It cannot be opened, or is not a conversation store.
        BusyError: Another program keeps it locked.
    """
    marks = (home or HomeMarkReader(path)).marks()
    kind = decide(marks)
    read_only = read_only or not kind.may_write
    _look_at_place(path, kind, read_only=read_only)
    read_only = read_only or tables_have_marks(path)
    try:
        conn, access = _connect(path, read_only=read_only, patience=patience)
    except sqlite3.Error as error:
        raise to_hermes_error(error, path) from error
    return _judged(conn, path, access, marks, patience)


def open_undisturbed(path: Path) -> OpenStore:
    """Open an existing file for reading without changing it, its log or their folder.

    A plain reader creates a log and its index where there are none, and leaves them. No lock is
    taken that another program would have to wait for.

    Raises:
        StateUnavailableError: It does not exist, is not a conversation store, or its log has
            changes that cannot be read without creating an index.
        BusyError: Another program is in the middle of a change.
    """
    marks = HomeMarkReader(path).marks()
    _look_at_place(path, decide(marks), read_only=True)
    try:
        conn = _connect_undisturbed(path)
    except sqlite3.Error as error:
        raise to_hermes_error(error, path) from error
    return _judged(conn, path, "ro", marks, Patience(attempts=1))


def _connect_undisturbed(path: Path) -> sqlite3.Connection:
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    if Path(f"{path}-journal").exists():  # a reader would hold up its writer
        raise BusyError("The session database is being changed.", str(path), "Try again.")
    if log.exists() and index.exists():
        try:
            return open_connection(path, "private")
        except sqlite3.OperationalError as error:
            if primary_code(error) not in _UNREACHABLE or not other_holders(path).seen:
                raise
            return open_connection(path, "ro")  # a running program has both files
    if log.exists() and log.stat().st_size:
        raise StateUnavailableError(
            "The last changes of the session database are in a log without an index.",
            f"Reading {log} would create one.",
            "Run `hermes-desktop sessions health`, which may do that.",
        )
    return open_connection(path, "immutable")


def _judged(
    conn: sqlite3.Connection, path: Path, access: Access, marks: HomeMarks, patience: Patience
) -> OpenStore:
    """Return the opened file with what is in it; the connection is closed if that fails."""
    try:
        may_make = access == "rw"
        layout = _understand(conn, path, decide(marks), may_make=may_make, patience=patience)
        condition = judge(conn, path, layout, access, marks)
    except sqlite3.Error as error:
        conn.close()
        raise to_hermes_error(error, path) from error
    except BaseException:
        conn.close()
        raise
    return OpenStore(conn, access, layout, condition, identify(path))


def _look_at_place(path: Path, home: HomeKind, *, read_only: bool) -> None:
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise cannot_open(path, "that is a folder, not a file")
        if not stat.S_ISREG(kind):
            # Opening a pipe would block until a process writes to it.
            raise cannot_open(path, "that is a pipe or a device, not a file")
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise cannot_open(path, getattr(error, "strerror", None) or str(error)) from error
    else:
        return
    if read_only:
        raise _nothing_yet(home, f"{path} does not exist.")
    make_file(path)


def _nothing_yet(home: HomeKind, why: str) -> StateUnavailableError:
    """Return the error for a store with nothing to read.

    In a home that this program does not write, that is the reason given.
    """
    if not home.may_write:
        return StateUnavailableError(home.title, f"{home.reason} {why}", home.hint)
    return StateUnavailableError("There are no sessions in this home yet.", why, _HOW_TO_BEGIN)


def _connect(
    path: Path, *, read_only: bool, patience: Patience
) -> tuple[sqlite3.Connection, Access]:
    """Open with the best access the system allows: for writing, for reading, or immutable.

    A full disk has no room for the log's index, without which SQLite reads only immutable files.
    """
    ways: list[Access] = ["rw", "ro"]
    if read_only or not may_write(path):
        ways = ["ro"]
    log = Path(f"{path}-wal")
    if not may_write(path) and not log.exists():
        ways.append("immutable")
    for way in ways:
        try:
            return retrying(_opener(path, way, patience), patience), way
        except sqlite3.OperationalError as error:
            if is_disk_full(error, path) and is_at_rest(path):
                return open_connection(path, "immutable"), "immutable"
            if way == ways[-1] or primary_code(error) not in _UNREACHABLE:
                raise
    raise AssertionError("unreachable: the last way returns or raises")


def is_at_rest(path: Path) -> bool:
    """Return whether no other process has the file open and its log is empty.

    Raises:
        StateError: The log has changes, which cannot be read on a full disk.
    """
    with contextlib.suppress(OSError):
        if Path(f"{path}-wal").stat().st_size:
            raise StateError(
                "The disk is full.",
                f"The last changes are in {path}-wal, which cannot be read without free space.",
                "Free some space; nothing is lost.",
            )
    return not (other_holders(path).seen or foreign_holders(path))


def _opener(path: Path, way: Access, patience: Patience) -> Callable[[], sqlite3.Connection]:
    return lambda: open_connection(path, way, wait_s=patience.wait_s)


def _understand(
    conn: sqlite3.Connection, path: Path, home: HomeKind, *, may_make: bool, patience: Patience
) -> FileLayout:
    layout = retrying(lambda: read_layout(conn), patience)
    if layout.is_empty and not _belongs_to_another_program(conn):
        if not may_make:
            raise _nothing_yet(home, f"{path} is still empty.")
        _need_full_text(conn)
        initialise(conn, patience)
        layout = read_layout(conn)
    if not layout.is_ours:
        raise not_a_database(path, "it does not contain the tables of Hermes")
    return layout


def _belongs_to_another_program(conn: sqlite3.Connection) -> bool:
    return any(
        conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )


def _need_full_text(conn: sqlite3.Connection) -> None:
    if not _has_full_text(conn):
        raise StateUnavailableError(
            "This SQLite cannot create a session database.",
            f"SQLite {sqlite3.sqlite_version} was built without full-text search (FTS5).",
            "Use a Python whose SQLite has FTS5.",
        )


def _has_full_text(conn: sqlite3.Connection) -> bool:
    found = conn.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone()
    return found is not None and sqlite3.sqlite_version_info >= (3, 34)


def judge(
    conn: sqlite3.Connection, path: Path, layout: FileLayout, access: Access, marks: HomeMarks
) -> StoreCondition:
    """Decide whether this file may be written, and if not, why and what to do.

    Args:
        conn: Connection for reading.
        path: The file.
        layout: Its schema.
        access: How it was opened.
        marks: The marks outside the file.
    """
    version = layout.version
    tables = has_marks(layout.objects, layout.columns.get("sessions", frozenset()))
    home = decide(replace(marks, tables=tables))
    if not home.may_write:
        return StoreCondition(
            version, writable=False, reason=home.reason, hint=home.hint, home=home
        )
    reason, hint = _why_not(conn, path, layout, access)
    if reason:
        return StoreCondition(version, writable=False, reason=reason, hint=hint)
    return StoreCondition(version, writable=True, notice=_notice(version))


def _why_not(
    conn: sqlite3.Connection, path: Path, layout: FileLayout, access: Access
) -> tuple[str, str]:
    """Return why the file is only read, and what to do about it; ("", "") if it may be written."""
    version = layout.version
    if version is None:
        return "The session database does not contain its version.", _MIGRATE
    if version < widening.OLDEST_WRITABLE:
        reason = (
            f"The session database was written by a very old Hermes (version {version}; "
            f"{widening.OLDEST_WRITABLE} or later is required). It can be read here, but not "
            "written."
        )
        return reason, _MIGRATE
    if access == "immutable" and may_write(path):
        return "The disk is full, so nothing can be saved.", "Free some space."
    if access != "rw":
        return (
            "The session database was opened read-only.",
            f"To write, make sure that you can change {path} and its folder.",
        )
    return _why_not_newer(conn, layout) if version > SCHEMA_VERSION else _lacking(conn, layout)


def _lacking(conn: sqlite3.Connection, layout: FileLayout) -> tuple[str, str]:
    version = layout.version
    lacking = layout.lacks if version == SCHEMA_VERSION else layout.lacks_full_text
    if lacking:
        return f"Parts of the session database are missing: {', '.join(lacking)}.", _MIGRATE
    if not _has_full_text(conn):
        return (
            f"SQLite {sqlite3.sqlite_version} here lacks full-text search (FTS5).",
            "Use a Python whose SQLite has FTS5.",
        )
    return "", ""


def _why_not_newer(conn: sqlite3.Connection, layout: FileLayout) -> tuple[str, str]:
    obstacles = widening.obstacles(conn, layout)
    if not obstacles:
        return "", ""
    reason = (
        f"The session database was written by a newer Hermes (version {layout.version}; "
        f"Hermes Desktop knows {SCHEMA_VERSION}) and can only be read here: "
        f"{'; '.join(obstacles)}."
    )
    return reason, ("Update Hermes Desktop, or continue with the `hermes` command.")


def _notice(version: int | None) -> str:
    if version is None or version == SCHEMA_VERSION:
        return ""
    if version < SCHEMA_VERSION:
        return (
            f"The session database was written by an older Hermes (version {version}). The "
            "first change made here adds the missing parts; `hermes` still migrates it when "
            "it is updated."
        )
    return (
        f"The session database was written by a newer Hermes (version {version}; Hermes "
        f"Desktop knows {SCHEMA_VERSION}). Unknown content is kept unchanged."
    )
