"""What SQLite says, in words a person can act on."""

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
    "Close other Hermes programs, then run `hermes sessions repair --check-only`, or go back to a "
    "snapshot with `hermes-desktop sessions restore latest`."
)


class MissingSessionError(NotFoundError, sqlite3.IntegrityError):
    """The session that should be written to, or be the parent, has no row."""


def primary_code(error: sqlite3.Error) -> int:
    """The basic SQLite result code behind an error, 0 when there is none."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else 0


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else holds the file, so that trying again makes sense."""
    return primary_code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def is_bad_text(error: sqlite3.Error) -> bool:
    """Whether a stored text is no UTF-8, which the strict reader refuses."""
    return "Could not decode to UTF-8" in str(error)


def breaks_a_rule(error: sqlite3.Error) -> bool:
    """Whether a statement broke a rule of the tables, which is its author's mistake.

    A constraint without a name is none of the tables': a damaged search index says that.
    """
    return (
        isinstance(error, sqlite3.IntegrityError)
        and getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_CONSTRAINT
    )


def in_words(error: sqlite3.Error, path: Path) -> HermesError:
    """Turn an error of SQLite into one of ours; the original stays as its cause."""
    where = f"{path}: {error}."
    code = primary_code(error)
    if is_busy(error):
        return BusyError(
            "The session database is busy.",
            f"Another program has been writing to {path} for too long.",
            "Try again in a moment; if it stays, look for a hanging Hermes process.",
        )
    if code == sqlite3.SQLITE_READONLY:
        return StateReadOnlyError(
            "The session database cannot be written.",
            where,
            "Check the rights of the file and its folder, and that the disk is not read-only.",
        )
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return StateError("The disk is full.", where, "Free some space; nothing was half written.")
    if code == sqlite3.SQLITE_NOTADB:
        return not_a_database(path, str(error))
    if code == sqlite3.SQLITE_TOOBIG or "pattern too complex" in str(error):
        return StateError(
            "That is more than the session database takes at once.", where, "Give a shorter text."
        )
    return _damaged_or_unknown(error, path, where)


def _is_full(path: Path) -> bool:
    """Whether the disk lacks even the room for the log's index, which readers need, too."""
    try:
        return shutil.disk_usage(path.parent).free < _LEAST_ROOM
    except OSError:
        return False


def _damaged_or_unknown(error: sqlite3.Error, path: Path, where: str) -> HermesError:
    code = primary_code(error)
    if code == sqlite3.SQLITE_CONSTRAINT or "fts5" in str(error):
        return StateUnavailableError(
            "The search index of the session database is damaged.", where, _REPAIR
        )
    if code == sqlite3.SQLITE_CORRUPT:
        return StateUnavailableError("The session database is damaged.", where, _REPAIR)
    if code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}:
        return cannot_open(path, str(error))
    if code == sqlite3.SQLITE_IOERR:
        return StateError(
            "The disk did not read or write the session database.",
            where,
            "Check the disk and, on a network folder, the connection.",
        )
    if "no such tokenizer" in str(error) or "no such module" in str(error):
        return StateReadOnlyError(
            "The search index of this session database needs a part that is missing here.",
            where,
            "Use the `hermes` command to write to it, or update Hermes Desktop.",
        )
    return StateError("The session database refused that.", where, _REPAIR)


def not_a_database(path: Path, detail: str) -> StateUnavailableError:
    """The file holds something else."""
    return StateUnavailableError(
        "state.db is not a Hermes session database.",
        f"{path}: {detail.rstrip('.')}. It was left as it is.",
        "Move the file away, or choose another home with HERMES_HOME or --profile.",
    )


def cannot_open(path: Path, detail: str) -> StateUnavailableError:
    """The file is there, or could be, and we may not have it."""
    return StateUnavailableError(
        "The session database cannot be opened.",
        f"{path}: {detail.rstrip('.')}.",
        "Check that the folder exists and that you may read and write it.",
    )
