"""Copying a long conversation in many short transactions.

The copy stays hidden until it is complete, see :mod:`transit_rows`; an interrupted one is removed
by ``SessionDB.finish_what_was_cut_short``.
"""

import os
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop.core.errors import BusyError, CancelledError
from hermes_desktop.state.conversations import branching
from hermes_desktop.state.conversations.branching import Branch, Origin
from hermes_desktop.state.database.chunked_writes import Ended, Piece, fits_one, in_steps
from hermes_desktop.state.facade import long_deletion
from hermes_desktop.state.facade.store import Store
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, Progress, silent
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.sqlite_errors import MissingSessionError
from hermes_desktop.state.sessions import transit_rows
from hermes_desktop.state.sessions.transit_rows import Mark, Way

_ATTEMPTS = 5


def create_branch(
    db: Store,
    branch: Branch,
    now: float,
    *,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> int:
    """Copy a conversation of any length. Returns how many messages were copied.

    Raises:
        MissingSessionError: The origin has no row.
        RefusedError: The id of the copy is taken.
        TitleError: The title is too long.
        CancelledError: ``cancel`` was set; there is no copy.
        BusyError: The origin changes all the time; there is no copy.
    """
    for _ in range(_ATTEMPTS):
        pieces = db.read(lambda conn: _pieces_if_any(conn, branch))
        if fits_one(len(pieces), sum(piece.bytes for piece in pieces)):
            return db._execute_write(lambda conn: branching.create(conn, branch, now))
        done = _attempt(db, branch, now, on_progress, cancel)
        if isinstance(done, int):
            return done
        if done is Ended.CANCELLED:
            raise CancelledError("The copy was cancelled.", "Nothing was changed.")
    raise BusyError(
        "The session is being changed.",
        f"Session {branch.origin_id} changed each time before its copy was complete.",
        "Try again when nobody changes it.",
    )


def _pieces_if_any(conn: sqlite3.Connection, branch: Branch) -> list[Piece[int]]:
    try:
        return _pieces(conn, branch)
    except MissingSessionError:
        return []  # reported by the transaction that would copy


def _pieces(conn: sqlite3.Connection, branch: Branch) -> list[Piece[int]]:
    origin = branching.look(conn, branch)
    values = (origin.row["id"], origin.until)
    return long_deletion.message_pieces(conn, branching.WANTED, values)


def _attempt(
    db: Store,
    branch: Branch,
    now: float,
    on_progress: OnProgress,
    cancel: CancelSignal | None,
) -> int | Ended:
    branch_id = clean_text(branch.branch_id)
    mark = Mark(Way.COPY, secrets.token_hex(8), now, 0, os.getpid())

    def begin(conn: sqlite3.Connection) -> tuple[Origin, list[Piece[int]]]:
        origin = branching.begin(conn, branch, now)
        transit_rows.hide(conn, [branch_id], mark)
        return origin, _pieces(conn, branch)

    origin, pieces = db._execute_write(begin)
    copying = _Copying(branch, branch_id, origin, mark, now)
    try:
        ended = in_steps(
            db,
            _numbered(pieces),
            copying.copy,
            on_step=lambda done: on_progress(Progress("Copying", done, len(pieces))),
            cancel=cancel,
        )
        done = ended or db._execute_write(copying.complete)
    except BaseException:
        long_deletion.remove_partial_copy(db, [branch_id], mark)
        raise
    if isinstance(done, Ended):
        long_deletion.remove_partial_copy(db, [branch_id], mark)
    return done


def _numbered(pieces: Sequence[Piece[int]]) -> list[Piece[tuple[int, int]]]:
    """Return each row id with its position in the whole."""
    return [Piece((place, each.value), each.bytes) for place, each in enumerate(pieces)]


@dataclass(frozen=True, slots=True)
class _Copying:
    """The steps of a copy; each runs inside a write transaction."""

    branch: Branch
    branch_id: str
    origin: Origin
    mark: Mark
    now: float

    def copy(self, conn: sqlite3.Connection, part: Sequence[tuple[int, int]]) -> Ended | None:
        if not transit_rows.all_carry(conn, [self.branch_id], self.mark.token):
            return Ended.CROSSED
        ids = [row_id for _, row_id in part]
        branching.copy_some(conn, self.branch, self.origin, self.now, part[0][0], ids)
        return None

    def complete(self, conn: sqlite3.Connection) -> int | Ended:
        """Reveal the copy, if the origin has not changed since."""
        if not transit_rows.all_carry(conn, [self.branch_id], self.mark.token):
            return Ended.CROSSED
        if self.is_changed(conn):
            return Ended.CHANGED
        transit_rows.reveal(conn, [self.branch_id])
        return branching.complete(conn, self.branch, self.origin, self.now)

    def is_changed(self, conn: sqlite3.Connection) -> bool:
        branch, origin = self.branch, self.origin
        if transit_rows.marked(conn, [origin.row["id"]]) != {origin.row["id"]: None}:
            return True
        now = branching.look(conn, Branch(branch.origin_id, "", until_message_id=origin.until))
        return (now.extent, now.rewinds) != (origin.extent, origin.rewinds)
