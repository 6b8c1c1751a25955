"""Out of the trash again, and after a crash."""

import json
import secrets
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from hermes_desktop.core.errors import BusyError, NotFoundError
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.state import trash_rows, trash_table
from hermes_desktop.state.own_store import OwnStore
from hermes_desktop.state.session_db import SessionDB
from hermes_desktop.state.trash_rows import Kept

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did with one conversation.

    Attributes:
        session_ids: Id now by id before; different where it was taken meanwhile.
        retitled: The titles that had to change, by session id.
    """

    trash_id: int
    root_id: str
    session_ids: Mapping[str, str]
    retitled: Mapping[str, str]


def restore_from_trash(
    db: SessionDB, own: OwnStore, trash_ids: Collection[int]
) -> tuple[Restored, ...]:
    """Put conversations back as they were; what is taken meanwhile gets a new id or title.

    Raises:
        NotFoundError: The trash has no such item.
        BusyError: Another program keeps a file locked.
        StateError: One of the files cannot be written; what is not yet back is still in the trash.
    """
    settle_trash(db, own)
    return tuple(_restore_one(db, own, trash_id) for trash_id in trash_ids)


def _restore_one(db: SessionDB, own: OwnStore, trash_id: int) -> Restored:
    for _ in range(_ATTEMPTS):
        item = own.read(lambda out: trash_table.item(out, trash_id), default=None)
        if item is None:
            raise NotFoundError(
                "The trash does not hold that.",
                f"There is no item {trash_id}.",
                "Look at the list of the trash.",
            )
        kept = own.read(lambda out: trash_table.kept(out, trash_id), default=Kept())
        plan = _plan(db, kept)
        text = json.dumps({"token": secrets.token_hex(8), "ids": plan})
        own.write(lambda out: trash_table.set_state(out, trash_id, trash_table.RESTORING, text))  # noqa: B023
        retitled = db._execute_write(  # noqa: SLF001 - same package
            lambda conn: _put_planned(conn, own, trash_id, text, kept, plan)  # noqa: B023
        )
        if retitled is not None:
            own.write(lambda out: trash_table.drop(out, trash_id))
            return Restored(trash_id, plan[item.root_id], plan, retitled)
    raise BusyError(
        "The conversation could not be restored now.",
        "Another window or program works on the same item of the trash.",
        "Try again in a moment.",
    )


def _plan(db: SessionDB, kept: Kept) -> dict[str, str]:
    ids = [row["id"] for row in kept.sessions]
    taken = db.read(lambda conn: trash_rows.existing(conn, ids))
    now = datetime.now()  # noqa: DTZ005 - session ids hold local time
    return {each: new_session_id(now) if each in taken else each for each in ids}


def _put_planned(
    conn: sqlite3.Connection,
    own: OwnStore,
    trash_id: int,
    plan_text: str,
    kept: Kept,
    plan: Mapping[str, str],
) -> dict[str, str] | None:
    """Insert, unless the plan is not the latest or an id was taken since."""
    latest = own.read(lambda out: trash_table.column(out, trash_id, "plan"), default=None)
    if latest != plan_text or trash_rows.existing(conn, plan.values()):
        return None
    return trash_rows.put_back(conn, kept, plan)


def settle_trash(db: SessionDB, own: OwnStore) -> int:
    """Finish or take back what a crash interrupted. Returns how many items; cheap without any."""
    nothing: list[int] = []
    open_ids = own.read(trash_table.unsettled, default=nothing)
    for trash_id in open_ids:
        db._execute_write(lambda conn: _settle(conn, own, trash_id))  # noqa: SLF001, B023 - same package; used at once
    return len(open_ids)


def _settle(conn: sqlite3.Connection, own: OwnStore, trash_id: int) -> None:
    """Look with the shared file locked, so that nobody is between two steps."""
    state = trash_table.state(own, trash_id)
    kept = own.read(lambda out: trash_table.kept(out, trash_id), default=Kept())
    if state == trash_table.COPIED:
        if _is_there(conn, kept, {row["id"]: row["id"] for row in kept.sessions}):
            own.write(lambda out: trash_table.drop(out, trash_id))
        else:
            own.write(lambda out: trash_table.set_state(out, trash_id, trash_table.DELETED))
    elif state == trash_table.RESTORING:
        text = own.read(lambda out: trash_table.column(out, trash_id, "plan"), default=None)
        if _is_there(conn, kept, json.loads(text)["ids"]):
            own.write(lambda out: trash_table.drop(out, trash_id))
        else:
            own.write(lambda out: trash_table.set_state(out, trash_id, trash_table.DELETED))


def _is_there(conn: sqlite3.Connection, kept: Kept, ids: Mapping[str, str]) -> bool:
    """Whether all that was kept stands in the shared file under these ids."""
    there = trash_rows.existing(conn, ids.values())
    return all(there.get(ids[each], -1) >= count for each, count in kept.counts.items())
