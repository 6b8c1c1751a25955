"""The trash: deleted conversations stay restorable for a while, outside the shared file.

Delete is copy, commit, delete in the shared file; restore is insert, commit, drop the copy. Each
step may be the last one before a crash: what was begun is finished or taken back by
``trash_restore.settle_trash``, and nothing is lost or doubled. The step in the shared file looks at
the copy once more inside its transaction, so that two of our processes cannot cross each other.
"""

import functools
import shutil
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.errors import BusyError, RefusedError
from hermes_desktop.state import deletion, lineage, trash_rows, trash_table
from hermes_desktop.state.own_store import OwnStore
from hermes_desktop.state.session_db import SessionDB
from hermes_desktop.state.stopping import CancelSignal, OnProgress, Progress, silent
from hermes_desktop.state.trash_rows import Belongings
from hermes_desktop.state.trash_table import TrashItem

MOST_BYTES = 200 * 1024 * 1024
KEPT_S = 30 * 86_400.0
_ROOM_TO_SPARE = 16 * 1024 * 1024
_ATTEMPTS = 5


Taking = Callable[[sqlite3.Connection, str], Belongings | None]
"""Says what goes together with a session; None when the session is not to go."""


class TrashTooLargeError(RefusedError):
    """Keeping a copy would take a lot of room; ask first, then call again with ``force``."""


class NoRoomError(RefusedError):
    """The disk has no room for a copy; deleting for good is another matter."""


@dataclass(frozen=True, slots=True)
class TrashReceipt:
    """What a delete did.

    Attributes:
        items: One for each conversation that went.
        missing: Ids that named no session (any more), or one that is not to go.
    """

    items: tuple[TrashItem, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Deletion:
    """What one call of :func:`trash_sessions` says of all its items."""

    deleted_at: float
    reason: str
    taking: Taking


def disk_free(folder: Path) -> int:
    """Bytes left on the disk of a folder, which need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


# ---------------------------------------------------------------------------------------- deleting


def trash_sessions(  # noqa: PLR0913 - the limits are choices of tests
    db: SessionDB,
    own: OwnStore,
    ids: Collection[str],
    *,
    deleted_at: float,
    reason: str,
    taking: Taking = trash_rows.belongings,
    force: bool = False,
    most_bytes: int = MOST_BYTES,
    free: Callable[[Path], int] = disk_free,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> TrashReceipt:
    """Delete conversations, all segments and subagents of each, keeping a copy.

    Args:
        db: The shared file.
        own: Where the copies go.
        ids: Any session of each conversation.
        deleted_at: Epoch seconds.
        reason: A word for the list of the trash.
        taking: What goes with a session; :func:`trash_rows.ended_session` takes it alone. It is
            asked once more when the copy is made; what it then says None to stays.
        force: Keep a copy however large it is.
        most_bytes: Above so much all together it is refused without ``force``.
        free: How many bytes are left on the disk of a folder.
        on_progress: Hears of each step.
        cancel: Once set, what is left stays; the receipt says what went.

    Raises:
        TrashTooLargeError: It is a lot; nothing was deleted.
        NoRoomError: There is no room for the copy; nothing was deleted.
        BusyError: Another program keeps a file locked, or writes to a conversation all the time.
        StateError: One of the files cannot be written. What was deleted before is in the trash.
    """
    how = _Deletion(deleted_at, reason, taking)
    groups, missing, size = db.read(lambda conn: _groups(conn, ids, taking))
    if size > most_bytes and not force:
        raise TrashTooLargeError(
            "The trash would become very large.",
            f"A copy of what is to be deleted takes about {size / 1e6:.0f} MB.",
            "Keep the copy all the same, or delete for good.",
        )
    if free(own.path.parent) < 2 * size + _ROOM_TO_SPARE:
        raise NoRoomError(
            "There is no room for a copy in the trash.",
            f"A copy takes about {size / 1e6:.0f} MB on the disk of {own.path.parent}.",
            "Free some space, or delete for good.",
        )
    items: list[TrashItem] = []
    for number, each in enumerate(groups, 1):
        if cancel is not None and cancel.is_set():
            break
        item = _trash_one(db, own, each, how)
        items += [] if item is None else [item]
        on_progress(Progress("Moving to the trash", number, len(groups)))
    return TrashReceipt(tuple(items), tuple(missing))


def _groups(
    conn: sqlite3.Connection, ids: Collection[str], taking: Taking
) -> tuple[list[str], list[str], int]:
    """One id for each conversation, the ids without a session, and the size of all together."""
    named: list[str] = []
    missing: list[str] = []
    covered: set[str] = set()
    size = 0
    for session_id in ids:
        if session_id in covered:
            continue
        what = taking(conn, session_id)
        if what is None:
            missing.append(session_id)
            continue
        covered.update(what.session_ids)
        named.append(session_id)
        size += trash_rows.size_of(conn, what)
    return named, missing, size


def _trash_one(db: SessionDB, own: OwnStore, session_id: str, how: _Deletion) -> TrashItem | None:
    """Copy and delete one conversation; again when somebody wrote to it in between."""
    for _ in range(_ATTEMPTS):
        copied = own.write(lambda out: _copy(db, out, session_id, how))
        if copied is None:
            return None
        trash_id = copied.trash_id
        if db._execute_write(functools.partial(_delete_copied, own, copied)):  # noqa: SLF001 - same package
            own.write(lambda out: trash_table.set_state(out, trash_id, trash_table.DELETED))  # noqa: B023
            return own.read(lambda out: trash_table.item(out, trash_id), default=None)  # noqa: B023
        own.write(lambda out: trash_table.drop(out, trash_id))  # noqa: B023
    raise BusyError(
        "The conversation is being written to.",
        f"Session {session_id} changed each time before it could be deleted.",
        "Try again when nobody writes to it.",
    )


@dataclass(frozen=True, slots=True)
class _Copied:
    """What a copy holds and what the originals looked like when it was made."""

    trash_id: int
    what: Belongings
    seen: tuple[object, ...]


def _copy(
    db: SessionDB, out: sqlite3.Connection, session_id: str, how: _Deletion
) -> _Copied | None:
    def copy(conn: sqlite3.Connection) -> _Copied | None:
        with trash_rows.one_view(conn):
            what = how.taking(conn, session_id)
            if what is None:
                return None
            trash_id = _insert_item(conn, out, what, how)
            out.executemany(
                "INSERT INTO trash_rows (trash_id, place, kind, content) VALUES (?, ?, ?, ?)",
                (
                    (trash_id, place, kind, text)
                    for place, (kind, text) in enumerate(trash_rows.rows_of(conn, what))
                ),
            )
            trash_table.add_links(out, trash_id, what.links, what.session_ids)
            return _Copied(trash_id, what, trash_rows.fingerprint(conn, what))

    return db.read(copy)


def _insert_item(
    conn: sqlite3.Connection, out: sqlite3.Connection, what: Belongings, how: _Deletion
) -> int:
    row = conn.execute(
        "SELECT title, source FROM sessions WHERE id = ?", (what.root_id,)
    ).fetchone()
    last = lineage.compression_tip(conn, what.root_id)
    tip = conn.execute(
        "SELECT title FROM sessions WHERE id = ?",
        (last if last in what.session_ids else what.root_id,),
    ).fetchone()
    messages = sum(trash_rows.existing(conn, what.session_ids).values())
    done = out.execute(
        "INSERT INTO trash (deleted_at, reason, root_id, title, source, session_count, "
        "message_count, bytes, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            how.deleted_at,
            how.reason,
            what.root_id,
            str(tip[0] or row[0] or "") or None,
            str(row[1]),
            len(what.session_ids),
            messages,
            trash_rows.size_of(conn, what),
            trash_table.COPIED,
        ),
    )
    return int(done.lastrowid or 0)


def _delete_copied(own: OwnStore, copied: _Copied, conn: sqlite3.Connection) -> bool:
    """Delete what was copied, unless it changed since or the copy is gone."""
    before = conn.text_factory
    conn.text_factory = trash_rows.stored_text
    try:
        same = trash_rows.fingerprint(conn, copied.what) == copied.seen
    finally:
        conn.text_factory = before
    if not same or trash_table.state(own, copied.trash_id) != trash_table.COPIED:
        return False
    deletion.remove(conn, copied.what.session_ids)
    return True


# ------------------------------------------------------------------------------- looking, emptying


def list_trash(own: OwnStore) -> tuple[TrashItem, ...]:
    """What can be restored, the latest first."""
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


def empty_trash(own: OwnStore, *, older_than: float | None = None) -> int:
    """Delete for good what is in the trash. Returns how many conversations.

    Args:
        own: Our store.
        older_than: Only what was deleted before this time, epoch seconds.
    """
    if not list_trash(own):
        return 0
    edge = float("inf") if older_than is None else older_than
    sql = "DELETE FROM trash WHERE state = ? AND deleted_at < ?"
    return own.write(lambda out: out.execute(sql, (trash_table.DELETED, edge)).rowcount)


def expire_trash(own: OwnStore, *, now: float, kept_s: float = KEPT_S) -> int:
    """Delete for good what was in the trash long enough, 30 days by default."""
    return empty_trash(own, older_than=now - kept_s)
