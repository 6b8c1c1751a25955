"""The trash: deleted conversations stay restorable for a limited time, outside the shared file.

Delete is copy, commit, delete in the shared file; restore is insert, commit, drop the copy. The
process may crash after each step: an interrupted operation is finished or undone by
``trash_restore.settle_trash``, and nothing is lost or doubled. The step in the shared file checks
the copy again inside its transaction, so that two processes of this program cannot conflict.
Many short conversations share their transactions; a long one has several, see ``trash_removal``.
"""

import functools
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.errors import BusyError, RefusedError
from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.database import chunked_writes
from hermes_desktop.state.database.chunked_writes import Ended
from hermes_desktop.state.facade.session_db import SessionDB
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, Progress, silent
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash import trash_removal, trash_table
from hermes_desktop.state.trash.trash_copy import (
    Copied,
    Deletion,
    Taking,
    delete_copied,
    is_same,
    make_copy,
)
from hermes_desktop.state.trash.trash_table import TrashItem

MOST_BYTES = 200 * 1024 * 1024
KEPT_S = 30 * 86_400.0
_ROOM_TO_SPARE = 16 * 1024 * 1024
_ATTEMPTS = 5
_STEP = "Moving to the trash"


class TrashTooLargeError(RefusedError):
    """A copy would take a lot of space; ask the user, then call again with ``force``."""


class TrashDiskFullError(RefusedError):
    """The disk has no space for a copy; permanent deletion remains possible."""


@dataclass(frozen=True, slots=True)
class TrashReceipt:
    """The result of a deletion.

    Attributes:
        items: One for each deleted conversation.
        missing: Ids that named no session (any more), or one that must not be deleted.
    """

    items: tuple[TrashItem, ...]
    missing: tuple[str, ...] = ()


def disk_free(folder: Path) -> int:
    """Return the free bytes on the disk of a folder, which need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


# ---------------------------------------------------------------------------------------- deleting


def trash_sessions(  # noqa: PLR0913 - the limits are choices of tests
    db: SessionDB,
    own: DesktopDatabase,
    ids: Collection[str],
    *,
    deleted_at: float,
    reason: str,
    taking: Taking = trash_rows.belongings,
    force: bool = False,
    most_bytes: int = MOST_BYTES,
    free: Callable[[Path], int] = disk_free,
    together: int = 50,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> TrashReceipt:
    """Delete conversations, all segments and subagents of each, and keep a copy.

    Args:
        db: The shared file.
        own: The store for the copies.
        ids: Any session of each conversation.
        deleted_at: Epoch seconds.
        reason: A short reason for the list of the trash.
        taking: Determines what is deleted with a session; :func:`trash_rows.ended_session` takes it
            alone. It is called again when the copy is made; a session for which it then returns
            None stays.
        force: Keep a copy regardless of its size.
        most_bytes: A greater total size is refused without ``force``.
        free: Returns the free bytes on the disk of a folder.
        together: The maximum number of short conversations per transaction.
        on_progress: Called after each step.
        cancel: Once set, the rest is kept; the receipt lists what was deleted.

    Raises:
        TrashTooLargeError: The copies are large; nothing was deleted.
        TrashDiskFullError: There is no space for the copy; nothing was deleted.
        BusyError: Another program keeps a file locked, or writes to a conversation all the time.
        StateError: One of the files cannot be written. What was deleted before is in the trash.
    """
    how = Deletion(deleted_at, reason, taking)
    groups, missing = db.read(lambda conn: _groups(conn, ids, taking))
    size = sum(each.bytes for each in groups)
    if size > most_bytes and not force:
        raise TrashTooLargeError(
            "The copy in the trash would be very large.",
            f"A copy of the sessions needs about {size / 1e6:.0f} MB.",
            "Keep the copy anyway, or delete permanently.",
        )
    needed, left = 2 * size + _ROOM_TO_SPARE, free(own.path.parent)
    if left < needed:
        raise TrashDiskFullError(
            "There is not enough space for a copy in the trash.",
            f"It needs {needed / 1e6:.0f} MB on the disk of {own.path.parent}; "
            f"{left / 1e6:.0f} MB are free.",
            "Free some space, or delete permanently.",
        )
    items: list[TrashItem] = []
    done = 0
    for portion in _portions(groups, together):
        if cancel is not None and cancel.is_set():
            break
        items += _trash_portion(db, own, portion, how, _Callbacks(on_progress, cancel))
        done += len(portion)
        on_progress(Progress(_STEP, done, len(groups)))
    return TrashReceipt(tuple(items), tuple(missing))


@dataclass(frozen=True, slots=True)
class _Group:
    """One conversation to be deleted, with the id by which it was named."""

    named: str
    messages: int
    bytes: int

    @property
    def is_long(self) -> bool:
        return not chunked_writes.fits_one(self.messages, self.bytes)


@dataclass(frozen=True, slots=True)
class _Callbacks:
    """The callbacks of a long operation: progress and cancellation."""

    on_progress: OnProgress
    cancel: CancelSignal | None


def _groups(
    conn: sqlite3.Connection, ids: Collection[str], taking: Taking
) -> tuple[list[_Group], list[str]]:
    """Return each conversation once, and the ids without a session."""
    found: list[_Group] = []
    missing: list[str] = []
    covered: set[str] = set()
    for session_id in ids:
        if session_id in covered:
            continue
        what = taking(conn, session_id)
        if what is None:
            missing.append(session_id)
            continue
        covered.update(what.session_ids)
        messages = sum(trash_rows.existing(conn, what.session_ids).values())
        found.append(_Group(session_id, messages, trash_rows.size_of(conn, what)))
    return found, missing


def _portions(groups: Sequence[_Group], most: int) -> Iterator[list[_Group]]:
    """Yield groups that fit into one transaction; a long conversation is alone."""
    portion: list[_Group] = []
    for each in groups:
        both = (*portion, each)
        together = chunked_writes.fits_one(
            sum(g.messages for g in both), sum(g.bytes for g in both)
        )
        if portion and (not together or len(portion) >= most):
            yield portion
            portion = []
        portion.append(each)
    if portion:
        yield portion


def _trash_portion(
    db: SessionDB, own: DesktopDatabase, portion: Sequence[_Group], how: Deletion, ears: _Callbacks
) -> Iterator[TrashItem]:
    """Copy and delete; a conversation that was changed in between is retried separately."""
    gone: Mapping[str, TrashItem | None] = {}
    if len(portion) > 1:
        gone = _trash_together(db, own, [each.named for each in portion], how)
    for each in portion:
        known = each.named in gone
        item = gone[each.named] if known else _trash_one(db, own, each.named, how, ears)
        if item is not None:
            yield item


def _trash_together(
    db: SessionDB, own: DesktopDatabase, names: Sequence[str], how: Deletion
) -> Mapping[str, TrashItem | None]:
    """Return the deleted items, None for those not to be deleted; the rest needs a retry."""
    copied = own.write(lambda out: {name: make_copy(db, out, name, how) for name in names})
    copies = [each for each in copied.values() if each is not None]
    try:
        gone = db._execute_write(functools.partial(delete_copied, own, copies))
    except RefusedError:  # for one of them; which one is found when each is tried separately
        gone = set()

    def note(out: sqlite3.Connection) -> dict[str, TrashItem | None]:
        for each in copies:
            if each.trash_id in gone:
                trash_table.set_deleted(out, each.trash_id, each.what.session_ids)
            else:
                trash_table.drop(out, each.trash_id)
        return {
            name: None if each is None else trash_table.item(out, each.trash_id)
            for name, each in copied.items()
            if each is None or each.trash_id in gone
        }

    return own.write(note)


def _trash_one(
    db: SessionDB, own: DesktopDatabase, session_id: str, how: Deletion, ears: _Callbacks
) -> TrashItem | None:
    """Copy and delete one conversation; retry when it was changed in between."""
    for _ in range(_ATTEMPTS):
        copied = own.write(lambda out: make_copy(db, out, session_id, how))
        if copied is None:
            return None
        ended = _remove(db, own, copied, how, ears)
        if ended is None:
            return own.read(lambda out: trash_table.item(out, copied.trash_id), default=None)  # noqa: B023
        if ended is Ended.CANCELLED:
            return None
    raise BusyError(
        "The session is being written to.",
        f"Session {session_id} changed each time before it could be deleted.",
        "Try again when no other program writes to it.",
    )


def _remove(
    db: SessionDB, own: DesktopDatabase, copied: Copied, how: Deletion, ears: _Callbacks
) -> Ended | None:
    """Delete what was copied from the shared file; else drop the copy and return the reason."""
    trash_id, messages = copied.trash_id, copied.messages
    if not chunked_writes.fits_one(messages, copied.bytes):
        return trash_removal.leave(
            db,
            own,
            trash_id,
            functools.partial(is_same, copied),
            at=how.deleted_at,
            on_step=lambda done: ears.on_progress(Progress(_STEP, done, messages)),
            cancel=ears.cancel,
        )
    if db._execute_write(functools.partial(delete_copied, own, [copied])):
        own.write(lambda out: trash_table.set_deleted(out, trash_id, copied.what.session_ids))
        return None
    own.write(lambda out: trash_table.drop(out, trash_id))
    return Ended.CHANGED


# -------------------------------------------------------------------------------- listing, emptying


def list_trash(own: DesktopDatabase) -> tuple[TrashItem, ...]:
    """Return the restorable items, the latest first."""
    return own.read(
        lambda out: tuple(
            trash_table.made(row)
            for row in out.execute(
                f"SELECT {trash_table.COLUMNS} FROM trash "
                "WHERE state <> ? ORDER BY deleted_at DESC, id DESC",
                (trash_table.COPIED,),
            ).fetchall()
        ),
        default=(),
    )


def empty_trash(own: DesktopDatabase, *, older_than: float | None = None) -> int:
    """Permanently delete the content of the trash. Returns how many conversations.

    Args:
        own: desktop.db.
        older_than: Only what was deleted before this time, epoch seconds.
    """
    if not list_trash(own):
        return 0
    edge = float("inf") if older_than is None else older_than
    sql = "DELETE FROM trash WHERE state = ? AND deleted_at < ?"
    return own.write(lambda out: out.execute(sql, (trash_table.DELETED, edge)).rowcount)


def expire_trash(own: DesktopDatabase, *, now: float, kept_s: float = KEPT_S) -> int:
    """Permanently delete items that were in the trash long enough, 30 days by default."""
    return empty_trash(own, older_than=now - kept_s)
