"""Permanent deletion of long sessions in many short transactions, resumed after a crash.

The first one hides the rows, see :mod:`transit_rows`, so that half a session is never visible; the
last one removes them. Messages added in the meantime were not meant to be deleted: they stay, with
their session.
"""

import os
import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.state.database.chunked_writes import Ended, OnStep, Piece, in_steps, unheard
from hermes_desktop.state.facade.store import Store
from hermes_desktop.state.records.stored_rows import chunks, columns, marks
from hermes_desktop.state.sessions import deletion, transit_rows
from hermes_desktop.state.sessions.transit_rows import Mark, Way

Choice = Callable[[sqlite3.Connection], Sequence[str]]
"""Selects the sessions to delete, inside the first transaction."""

_WORDS = ("content", "tool_calls", "reasoning", "reasoning_content", "api_content")


def remove_long(db: Store, choose: Choice, now: float, on_step: OnStep = unheard) -> list[str]:
    """Permanently delete sessions with many messages. Returns those that were deleted.

    Raises:
        RefusedError: An unknown part of the store refers to one of them; they become visible again,
            without the messages.
    """

    def begin(conn: sqlite3.Connection) -> tuple[list[str], Mark]:
        ids = list(choose(conn))
        deletion.refuse_if_referred_to(conn, ids)
        upto = conn.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()[0]
        mark = Mark(Way.FOR_GOOD, secrets.token_hex(8), now, upto, os.getpid())
        transit_rows.hide(conn, ids, mark)
        return ids, mark

    ids, mark = db._execute_write(begin)
    return _go_on(db, _Removal(tuple(ids), mark), on_step) if ids else []


def remove_partial_copy(db: Store, ids: Collection[str], mark: Mark) -> None:
    """Remove a copy that was not completed."""
    _go_on(db, _Removal(tuple(ids), mark), unheard)


def finish(db: Store, now: float) -> int:
    """Finish interrupted deletions. Returns how many sessions; cheap when there are none."""
    groups: dict[Mark, list[str]] = defaultdict(list)
    for session_id, mark in db.read(lambda conn: list(transit_rows.on_their_way(conn))):
        if mark.way in {Way.FOR_GOOD, Way.COPY} and mark.is_abandoned(now):
            groups[mark].append(session_id)
    for mark, ids in groups.items():
        _go_on(db, _Removal(tuple(ids), mark), unheard)
    return sum(map(len, groups.values()))


def message_pieces(
    conn: sqlite3.Connection, condition: str, values: Sequence[object]
) -> list[Piece[int]]:
    """Return row ids of messages in order, each with the approximate length of its text."""
    present = [name for name in _WORDS if name in columns(conn, "messages")]
    length = " + ".join(f"coalesce(length(CAST({name} AS BLOB)), 0)" for name in present)
    rows = conn.execute(
        f"SELECT id, {length} FROM messages WHERE {condition} ORDER BY +id", values
    ).fetchall()
    return [Piece(row[0], row[1]) for row in rows]


@dataclass(frozen=True, slots=True)
class _Removal:
    """The steps of a deletion; each runs inside a write transaction."""

    ids: tuple[str, ...]
    mark: Mark

    def pieces(self, conn: sqlite3.Connection) -> list[Piece[int]]:
        return message_pieces(
            conn, f"session_id IN ({marks(self.ids)}) AND +id <= ?", (*self.ids, self._upto)
        )

    @property
    def _upto(self) -> int:
        return self.mark.upto if self.mark.way is Way.FOR_GOOD else 2**62

    def remove(self, conn: sqlite3.Connection, row_ids: Sequence[int]) -> Ended | None:
        """Delete messages of sessions that still carry this mark."""
        ours = self._ours(conn)
        if not ours:
            return Ended.GONE
        for chunk in chunks(row_ids):
            conn.execute(
                f"DELETE FROM messages WHERE id IN ({marks(chunk)}) "
                f"AND session_id IN ({marks(ours)})",
                (*chunk, *ours),
            )
        return None

    def close(self, conn: sqlite3.Connection) -> list[str]:
        """Delete the sessions without messages; reveal those to which messages were added."""
        ours = self._ours(conn)
        kept = [each for each in ours if _has_messages(conn, each)]
        for each in kept:
            conn.execute(
                "UPDATE sessions SET tool_call_count = 0, message_count = "
                "(SELECT count(*) FROM messages AS m WHERE m.session_id = sessions.id) "
                "WHERE id = ?",
                (each,),
            )
        transit_rows.reveal(conn, kept)
        gone = [each for each in ours if each not in kept]
        return deletion.remove(conn, gone)

    def show(self, conn: sqlite3.Connection) -> None:
        transit_rows.reveal(conn, self._ours(conn))

    def _ours(self, conn: sqlite3.Connection) -> list[str]:
        found = transit_rows.marked(conn, self.ids)
        return [each for each, mark in found.items() if mark and mark.token == self.mark.token]


def _go_on(db: Store, removal: _Removal, on_step: OnStep) -> list[str]:
    in_steps(db, db.read(removal.pieces), removal.remove, on_step=on_step)
    try:
        return db._execute_write(removal.close)
    except RefusedError:
        db._execute_write(removal.show)
        raise


def _has_messages(conn: sqlite3.Connection, session_id: str) -> bool:
    row = conn.execute("SELECT 1 FROM messages WHERE session_id = ? LIMIT 1", (session_id,))
    return row.fetchone() is not None
