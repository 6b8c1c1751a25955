"""Deletion, copying and import of long sessions in many short transactions.

Half a session is never visible. A deletion hides the rows first, see :mod:`transit_rows`, and
removes them last; it is resumed after a crash. Messages added in the meantime were not meant to be
deleted: they stay, with their session. A copy or an import stays hidden until it is complete; an
interrupted one is removed by ``SessionDB.finish_what_was_cut_short``.
"""

import os
import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from hermes_desktop.core.errors import BusyError, CancelledError, RefusedError
from hermes_desktop.state.conversations import branching, messages_table
from hermes_desktop.state.conversations.branching import Branch, Origin
from hermes_desktop.state.database.chunked_writes import (
    Ended,
    OnStep,
    Piece,
    fits_one,
    in_steps,
    unheard,
)
from hermes_desktop.state.facade.store import Store
from hermes_desktop.state.import_export import importing
from hermes_desktop.state.import_export.importing import ImportReport, Session
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, Progress, silent
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.sqlite_errors import MissingSessionError
from hermes_desktop.state.records.stored_rows import chunks, columns, marks
from hermes_desktop.state.sessions import deletion, sessions_table, transit_rows
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


_BRANCH_ATTEMPTS = 5


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
    for _ in range(_BRANCH_ATTEMPTS):
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
        "Try again when no other program changes it.",
    )


def _pieces_if_any(conn: sqlite3.Connection, branch: Branch) -> list[Piece[int]]:
    try:
        return _pieces(conn, branch)
    except MissingSessionError:
        return []  # reported by the transaction that would copy


def _pieces(conn: sqlite3.Connection, branch: Branch) -> list[Piece[int]]:
    origin = branching.look(conn, branch)
    values = (origin.row["id"], origin.until)
    return message_pieces(conn, branching.WANTED, values)


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
        remove_partial_copy(db, [branch_id], mark)
        raise
    if isinstance(done, Ended):
        remove_partial_copy(db, [branch_id], mark)
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


def import_long(db: Store, session: Session, now: float, done: ImportReport) -> ImportReport:
    """Import one session, unless a session with its id exists.

    Returns:
        A new report: ``done`` with this session added.

    Raises:
        BusyError: Another program removed what was imported so far.
    """
    work = _Import(session, clean_text(session["id"]), now, secrets.token_hex(8))
    report = db._execute_write(lambda conn: work.begin(conn, done))
    if session["id"] in report.skipped:
        return report
    try:
        ended = in_steps(db, work.pieces(), work.insert)
        finished = None if ended else db._execute_write(lambda conn: work.finish(conn, report))
    except BaseException:
        remove_partial_copy(db, [work.session_id], work.mark)
        raise
    if finished is None:
        remove_partial_copy(db, [work.session_id], work.mark)
        raise BusyError(
            "The session could not be imported.",
            f"Another program deleted {work.session_id} during the import.",
            "Import it again; existing sessions are skipped.",
        )
    return finished


@dataclass(slots=True)
class _Import:
    """The steps of an import; each runs inside a write transaction."""

    session: Session
    session_id: str
    now: float
    token: str
    ids: list[int] | None = None

    @property
    def mark(self) -> Mark:
        return Mark(Way.COPY, self.token, self.now, 0, os.getpid())

    def pieces(self) -> list[Piece[int]]:
        return [
            Piece(place, len(str(each.get("content") or "")))
            for place, each in enumerate(self.session["messages"])
        ]

    def begin(self, conn: sqlite3.Connection, done: ImportReport) -> ImportReport:
        report = done.copy()
        if sessions_table.exists(conn, self.session_id):
            report.skipped.append(self.session["id"])
            return report
        importing.insert_row(conn, self.session_id, self.session, self.now, report)
        transit_rows.hide(conn, [self.session_id], self.mark)
        messages = self.session["messages"]
        self.ids = importing.kept_ids(conn, [message.get("id") for message in messages])
        if self.ids is not None:
            # Inserting the greatest id first reserves the ids below it.
            self._insert(conn, len(messages) - 1, len(messages))
        report.imported.append(self.session["id"])
        return report

    def insert(self, conn: sqlite3.Connection, places: Sequence[int]) -> Ended | None:
        if not transit_rows.all_carry(conn, [self.session_id], self.token):
            return Ended.CROSSED
        end = places[-1] + 1
        if self.ids is not None and end == len(self.session["messages"]):
            end -= 1
        self._insert(conn, places[0], end)
        return None

    def _insert(self, conn: sqlite3.Connection, start: int, end: int) -> None:
        messages_table.insert_some(
            conn,
            self.session_id,
            self.session["messages"][start:end],
            self.now,
            place=start,
            ids=None if self.ids is None else self.ids[start:end],
        )

    def finish(self, conn: sqlite3.Connection, report: ImportReport) -> ImportReport | None:
        if not transit_rows.all_carry(conn, [self.session_id], self.token):
            return None
        done = report.copy()
        messages_table.set_counters(conn, self.session_id, self.session["messages"])
        for title in transit_rows.reveal(conn, [self.session_id]).values():
            wanted = self.session.get("title")
            done.retitled = [
                each for each in done.retitled if each["session_id"] != self.session["id"]
            ]
            done.retitled.append({"session_id": self.session["id"], "from": wanted, "to": title})
        return done
