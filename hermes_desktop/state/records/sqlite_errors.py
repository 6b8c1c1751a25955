"""Translation of SQLite errors into errors that the user can act on."""

import shutil
import sqlite3
from pathlib import Path

from hermes_desktop.core.errors import (
    BusyError,
    HermesError,
    NotFoundError,
    StateError,
    StateReadOnlyError,
    StateUnavailableError,
)

_LEAST_ROOM = 64 * 1024
_REPAIR = (
    "Close other Hermes programs, then run `hermes sessions repair --check-only`, or restore "
    "a snapshot with `hermes-desktop sessions restore latest`."
)

_LOOK = "Try again. If that does not help, run `hermes-desktop sessions health`."
"""For errors that need not mean damage; going back to a snapshot would lose messages."""

_TOO_MUCH = ("pattern too complex", "too large", "too many SQL variables", "stack overflow")
_DAMAGE = ("corrupt", "checksum", "malformed", "missing row", "file format")


class MissingSessionError(NotFoundError, sqlite3.IntegrityError):
    """The session to write to, or the parent session, has no row."""


def primary_code(error: sqlite3.Error) -> int:
    """Return the primary SQLite result code of an error, 0 when there is none."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else 0


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection locks the file, so that a retry makes sense."""
    return primary_code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def is_bad_text(error: sqlite3.Error) -> bool:
    """Return whether a stored text is not UTF-8, which the strict reader refuses."""
    return "Could not decode to UTF-8" in str(error)


def violates_constraint(error: sqlite3.Error) -> bool:
    """Return whether a statement violated a table constraint, which is a bug in the statement.

    A constraint error without a name does not come from the tables: a damaged search index raises
    it.
    """
    return (
        isinstance(error, sqlite3.IntegrityError)
        and getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_CONSTRAINT
    )


def to_hermes_error(error: sqlite3.Error, path: Path) -> HermesError:
    """Convert an SQLite error to a HermesError; the caller keeps the original as its cause."""
    where = f"{path}: {error}."
    code = primary_code(error)
    if is_busy(error):
        return BusyError(
            "The session database is busy.",
            f"Another program has been writing to {path} for too long.",
            "Try again in a moment. If it does not help, look for a hanging Hermes process.",
        )
    if code == sqlite3.SQLITE_READONLY:
        return StateReadOnlyError(
            "The session database cannot be written.",
            where,
            "Check the permissions of the file and its folder, and that the disk is not read-only.",
        )
    if is_disk_full(error, path):
        return StateError("The disk is full.", where, "Free some space; no data was damaged.")
    if code == sqlite3.SQLITE_NOTADB:
        return not_a_database(path, str(error))
    if code == sqlite3.SQLITE_TOOBIG or any(each in str(error) for each in _TOO_MUCH):
        return StateError(
            "The text is too long for the session database.", where, "Use a shorter text."
        )
    return _damaged_or_unknown(error, path, where)


def is_disk_full(error: sqlite3.Error, path: Path) -> bool:
    """Return whether an error means that the disk is full."""
    code = primary_code(error)
    return code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and lacks_room(path))


def lacks_room(path: Path) -> bool:
    """Return whether the disk lacks even the space for the log's index, which readers need, too."""
    try:
        return shutil.disk_usage(path.parent).free < _LEAST_ROOM
    except OSError:
        return False


def _damaged_or_unknown(error: sqlite3.Error, path: Path, where: str) -> HermesError:
    code = primary_code(error)
    is_index_damage = "fts5" in str(error) and any(each in str(error) for each in _DAMAGE)
    if code == sqlite3.SQLITE_CONSTRAINT or is_index_damage:
        return StateUnavailableError(
            "The search index of the session database is damaged.", where, _REPAIR
        )
    if code == sqlite3.SQLITE_CORRUPT:
        return StateUnavailableError("The session database is damaged.", where, _REPAIR)
    if code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}:
        return cannot_open(path, str(error))
    if code == sqlite3.SQLITE_IOERR:
        return StateError(
            "The disk could not read or write the session database.",
            where,
            "Check the disk and, on a network folder, the connection.",
        )
    if "no such tokenizer" in str(error) or "no such module" in str(error):
        return StateReadOnlyError(
            "The search index of this session database needs a part that this SQLite lacks.",
            where,
            "Use the `hermes` command to write to it, or update Hermes Desktop.",
        )
    return StateError("The session database rejected the operation.", where, _LOOK)


def not_a_database(path: Path, detail: str) -> StateUnavailableError:
    """Return the error for a file that is not a Hermes session database."""
    return StateUnavailableError(
        "state.db is not a Hermes session database.",
        f"{path}: {detail.rstrip('.')}. It was not changed.",
        "Move the file away, or choose another home with HERMES_HOME or --profile.",
    )


def cannot_open(path: Path, detail: str) -> StateUnavailableError:
    """Return the error for a file that exists, or could be created, but cannot be accessed."""
    return StateUnavailableError(
        "The session database cannot be opened.",
        f"{path}: {detail.rstrip('.')}.",
        "Check that the folder exists and that you can read and write it.",
    )
