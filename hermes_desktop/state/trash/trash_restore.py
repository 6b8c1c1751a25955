"""Restoring from the trash, and recovery after a crash."""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from hermes_desktop.core.errors import BusyError, NotFoundError
from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.conversations.trash_rows import Kept
from hermes_desktop.state.facade.session_db import SessionDB
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, Progress, silent
from hermes_desktop.state.sessions import pins, transit_rows
from hermes_desktop.state.sessions.transit_rows import Way
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash import trash_removal, trash_table
from hermes_desktop.state.trash.trash_insertion import Plan, make_plan, restore_item

_ATTEMPTS = 5
_STEP = "Restoring"


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of restoring one conversation.

    Attributes:
        session_ids: New id by previous id; different where it was taken in the meantime.
        retitled: The titles that had to change, by session id.
    """

    trash_id: int
    root_id: str
    session_ids: Mapping[str, str]
    retitled: Mapping[str, str]


def restore_from_trash(
    db: SessionDB,
    own: DesktopDatabase,
    trash_ids: Collection[int],
    *,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> tuple[Restored, ...]:
    """Restore conversations; ids and titles taken in the meantime are replaced by new ones.

    Args:
        db: The shared file.
        own: The store with the copies.
        trash_ids: The items to restore.
        on_progress: Called after each conversation, and during a long one.
        cancel: Once set, the rest stays in the trash; a started one is completed.

    Raises:
        NotFoundError: The trash has no such item.
        BusyError: Another program keeps a file locked.
        StateError: One of the files cannot be written; what is not yet restored is still in the
            trash.
    """
    settle_trash(db, own)
    done: list[Restored] = []
    for number, trash_id in enumerate(trash_ids, 1):
        if cancel is not None and cancel.is_set():
            break
        done.append(_restore_one(db, own, trash_id, on_progress))
        on_progress(Progress(_STEP, number, len(trash_ids)))
    return tuple(done)


def _restore_one(
    db: SessionDB, own: DesktopDatabase, trash_id: int, on_progress: OnProgress
) -> Restored:
    for _ in range(_ATTEMPTS):
        item = own.read(lambda out: trash_table.item(out, trash_id), default=None)
        if item is None:
            raise NotFoundError(
                "This is not in the trash.",
                f"There is no item {trash_id}.",
                "Check the list of the trash.",
            )
        kept = own.read(lambda out: trash_table.kept(out, trash_id), default=Kept())
        plan = make_plan(db, kept)
        now = db._clock.time()
        own.write(lambda out: _note(out, trash_id, plan, now))  # noqa: B023

        def heard(done: int, total: int = len(kept.messages)) -> None:
            on_progress(Progress(_STEP, done, total))

        retitled = restore_item(db, own, trash_id, kept, plan, heard)
        if retitled is not None:
            own.write(lambda out: _returned(out, trash_id, plan.ids))  # noqa: B023
            return Restored(trash_id, plan.ids[item.root_id], plan.ids, retitled)
    raise BusyError(
        "The session could not be restored now.",
        "Another window or program is using the same item of the trash.",
        "Try again in a moment.",
    )


def _note(out: sqlite3.Connection, trash_id: int, plan: Plan, now: float) -> None:
    trash_table.set_state(out, trash_id, trash_table.RESTORING, plan.text)
    # Before the sessions: a turn that starts as soon as they are visible must find their prompts.
    trash_table.bring_prompts_back(out, trash_id, plan.ids, now)


def _returned(out: sqlite3.Connection, trash_id: int, ids: Mapping[str, str]) -> None:
    """Drop the copy; sessions that were restored under another id keep their pins."""
    pins.follow(out, ids)
    trash_table.drop(out, trash_id)


def settle_trash(db: SessionDB, own: DesktopDatabase) -> int:
    """Finish or undo what a crash interrupted. Returns how many items; cheap without any."""
    nothing: list[int] = []
    open_ids = own.read(trash_table.unsettled, default=nothing)
    for trash_id in open_ids:
        if not _go_on(db, own, trash_id):
            db._execute_write(lambda conn: _settle(conn, own, trash_id))  # noqa: B023 - same package; called immediately
    db.finish_what_was_cut_short()
    return len(open_ids) + _show_what_nobody_knows(db, own)


def _show_what_nobody_knows(db: SessionDB, own: DesktopDatabase) -> int:
    """Reveal sessions in transit that have no record, because desktop.db was lost.

    Such a session keeps the messages that it has. Returns how many; cheap without any.
    """

    def unknown(conn: sqlite3.Connection) -> list[str]:
        now = db._clock.time()
        found = [
            (each, mark.token)
            for each, mark in transit_rows.on_their_way(conn)
            if mark.way in {Way.TO_TRASH, Way.FROM_TRASH} and mark.is_abandoned(now)
        ]
        noted = own.read(_tokens, default=frozenset[str]()) if found else ()
        return [each for each, token in found if token not in noted]

    def show(conn: sqlite3.Connection) -> int:
        ids = unknown(conn)  # again: sessions are hidden only after they are recorded
        transit_rows.reveal(conn, ids)
        conn.executemany(
            "UPDATE sessions SET message_count = "
            "(SELECT count(*) FROM messages AS m WHERE m.session_id = sessions.id) WHERE id = ?",
            [(each,) for each in ids],
        )
        return len(ids)

    return db._execute_write(show) if db.read(unknown) else 0


def _tokens(out: sqlite3.Connection) -> frozenset[str]:
    """Return the tokens of the operations that desktop.db has recorded."""
    rows = out.execute("SELECT state, plan FROM trash WHERE plan IS NOT NULL").fetchall()
    return frozenset(
        Plan.of(row[1]).token if row[0] == trash_table.RESTORING else row[1] for row in rows
    )


def _go_on(db: SessionDB, own: DesktopDatabase, trash_id: int) -> bool:
    """Finish an operation of several steps; False when there is none."""
    noted = own.read(lambda out: trash_table.noted(out, trash_id), default=None)
    state, text = noted or ("", None)
    if text is None:
        return False
    kept = own.read(lambda out: trash_table.kept(out, trash_id), default=Kept())
    if state == trash_table.LEAVING and _any_carries(db, kept.ids, text):
        trash_removal.go_on(db, own, trash_id, text)
        return True
    if state == trash_table.RESTORING:
        plan = Plan.of(text)
        if _any_carries(db, plan.ids.values(), plan.token):
            if restore_item(db, own, trash_id, kept, plan) is not None:
                own.write(lambda out: _returned(out, trash_id, plan.ids))
            return True
    return False


def _any_carries(db: SessionDB, ids: Iterable[str], token: str) -> bool:
    found = db.read(lambda conn: transit_rows.marked(conn, list(ids)))
    return any(mark is not None and mark.token == token for mark in found.values())


def _settle(conn: sqlite3.Connection, own: DesktopDatabase, trash_id: int) -> None:
    """Check with the shared file locked, so that no other process is between two steps."""
    noted = own.read(lambda out: trash_table.noted(out, trash_id), default=None)
    if noted is None or noted[0] == trash_table.DELETED:
        return
    kept = own.read(lambda out: trash_table.kept(out, trash_id), default=Kept())
    ids: Mapping[str, str] = {each: each for each in kept.ids}
    if noted[0] == trash_table.RESTORING:
        ids = Plan.of(noted[1] or "").ids
    if _is_there(conn, kept, ids):
        own.write(lambda out: _returned(out, trash_id, ids))
    else:
        own.write(lambda out: trash_table.set_deleted(out, trash_id, ids.values()))


def _is_there(conn: sqlite3.Connection, kept: Kept, ids: Mapping[str, str]) -> bool:
    """Return whether all copied rows are in the shared file under these ids, and not hidden."""
    there = trash_rows.existing(conn, ids.values())
    whole = all(there.get(ids[each], -1) >= count for each, count in kept.counts.items())
    return whole and not any(transit_rows.marked(conn, ids.values()).values())
