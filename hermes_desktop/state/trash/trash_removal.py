"""Removal of a long conversation after its copy is in the trash, in many short transactions.

The first one checks that the copy is still valid and hides the rows, see :mod:`transit_rows`; the
last one removes them. In between messages are deleted, the oldest first, each only if it equals its
copy. So a conversation that another program continues in the meantime is restored completely.
"""

import os
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.state.conversations.trash_rows import Kept
from hermes_desktop.state.database.chunked_writes import Ended, OnStep, in_steps, unheard
from hermes_desktop.state.facade.session_db import SessionDB
from hermes_desktop.state.records.cancellation import CancelSignal
from hermes_desktop.state.records.stored_rows import Row, chunks, marks, rows_by_id
from hermes_desktop.state.sessions import deletion, transit_rows
from hermes_desktop.state.sessions.transit_rows import Mark, Way
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash import trash_table
from hermes_desktop.state.trash.trash_insertion import Plan, restore_item

IsSame = Callable[[sqlite3.Connection], bool]
"""Returns whether the originals are unchanged since they were copied."""


def leave(  # noqa: PLR0913 - each is needed
    db: SessionDB,
    own: DesktopDatabase,
    trash_id: int,
    is_same: IsSame,
    *,
    at: float,
    on_step: OnStep,
    cancel: CancelSignal | None,
) -> Ended | None:
    """Remove the originals of an item of the trash.

    Returns:
        None when they are removed. Otherwise everything is as before, and the copy dropped.

    Raises:
        RefusedError: An unknown part of the store refers to them; everything is as before.
        BusyError: Another program keeps a file locked. It is finished by ``settle_trash``.
        StateError: As above.
    """
    kept = own.read(lambda out: trash_table.kept(out, trash_id), default=Kept())
    token = secrets.token_hex(8)
    mark = Mark(Way.TO_TRASH, token, at, 0, os.getpid())
    own.write(lambda out: trash_table.set_state(out, trash_id, trash_table.LEAVING, token))
    way = _RemovalSteps(own, trash_id, kept, token)

    def begin(conn: sqlite3.Connection) -> bool:
        if not way.is_latest() or not is_same(conn):
            return False
        deletion.refuse_if_referred_to(conn, kept.ids)
        transit_rows.hide(conn, kept.ids, mark)
        return True

    try:
        if db._execute_write(begin):
            return _settled(db, way, on_step, cancel)
    except RefusedError:
        own.write(lambda out: trash_table.drop(out, trash_id))
        raise
    own.write(lambda out: trash_table.drop(out, trash_id))
    return Ended.CHANGED


def go_on(db: SessionDB, own: DesktopDatabase, trash_id: int, token: str) -> None:
    """Finish an interrupted removal."""
    kept = own.read(lambda out: trash_table.kept(out, trash_id), default=Kept())
    try:
        _settled(db, _RemovalSteps(own, trash_id, kept, token), unheard, None)
    except RefusedError:
        return  # it was restored


def _settled(
    db: SessionDB, way: "_RemovalSteps", on_step: OnStep, cancel: CancelSignal | None
) -> Ended | None:
    """Remove the originals, or restore them if the removal ends early."""
    own, trash_id = way.own, way.trash_id
    try:
        ended = in_steps(db, way.kept.pieces(), way.remove, on_step=on_step, cancel=cancel)
        ended = ended or db._execute_write(way.finish)
    except RefusedError:
        _put_back(db, way)
        raise
    if ended is Ended.CROSSED:
        # Another process of this program settles the same item.
        return None if trash_table.state(own, trash_id) == trash_table.DELETED else Ended.CHANGED
    if ended in {None, Ended.GONE}:
        own.write(lambda out: trash_table.set_deleted(out, trash_id, way.kept.ids))
        return None
    _put_back(db, way)
    return ended


def _put_back(db: SessionDB, way: "_RemovalSteps") -> None:
    own, trash_id = way.own, way.trash_id
    plan = Plan(way.token, {each: each for each in way.kept.ids})
    own.write(lambda out: trash_table.set_state(out, trash_id, trash_table.RESTORING, plan.text))
    if restore_item(db, own, trash_id, way.kept, plan) is not None:
        own.write(lambda out: trash_table.drop(out, trash_id))


@dataclass(frozen=True, slots=True)
class _RemovalSteps:
    """The steps of a removal; each runs inside a write transaction."""

    own: DesktopDatabase
    trash_id: int
    kept: Kept
    token: str

    def remove(self, conn: sqlite3.Connection, rows: Sequence[Row]) -> Ended | None:
        """Delete these messages, if everything equals the copy."""
        ended = self._ended(conn)
        if ended is not None:
            return ended
        copied = {row["id"]: row for row in rows}
        found = rows_by_id(conn, "messages", "id", list(copied))
        if any(row != copied[row["id"]] for row in found):
            return Ended.CHANGED
        for chunk in chunks([row["id"] for row in found]):
            conn.execute(f"DELETE FROM messages WHERE id IN ({marks(chunk)})", chunk)
        return None

    def finish(self, conn: sqlite3.Connection) -> Ended | None:
        """Delete the sessions, if nothing was added to them."""
        ended = self._ended(conn)
        if ended is not None:
            return ended
        ids = self.kept.ids
        usage = rows_by_id(conn, "session_model_usage", "session_id", ids)
        if any(row not in self.kept.usage for row in usage):
            return Ended.CHANGED
        left = conn.execute(
            f"SELECT 1 FROM messages WHERE session_id IN ({marks(ids)}) LIMIT 1", ids
        )
        if left.fetchone() is not None:
            return Ended.CHANGED
        deletion.remove(conn, deletion.existing(conn, ids))
        return None

    def _ended(self, conn: sqlite3.Connection) -> Ended | None:
        if not self.is_latest():
            return Ended.CROSSED
        copied = {row["id"]: row for row in self.kept.sessions}
        found = rows_by_id(conn, "sessions", "id", self.kept.ids)
        if not found:
            return Ended.GONE
        same = all(self._is_untouched(row, copied[row["id"]]) for row in found)
        return None if same else Ended.CHANGED

    def _is_untouched(self, row: Row, copied: Row) -> bool:
        mark = transit_rows.read_mark(row["model_config"])
        if mark is None or mark.token != self.token:
            return False
        expected = {**copied, **transit_rows.covered(copied, mark)}
        del expected["model_config"]
        return all(row.get(name) == value for name, value in expected.items())

    def is_latest(self) -> bool:
        """Return whether no other operation on the item was started since."""
        noted = self.own.read(lambda out: trash_table.noted(out, self.trash_id), default=None)
        return noted == (trash_table.LEAVING, self.token)
