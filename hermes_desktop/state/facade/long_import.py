"""Import of a long session in many short transactions; hidden until it is complete."""

import os
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop.core.errors import BusyError
from hermes_desktop.state.conversations import messages_table
from hermes_desktop.state.database.chunked_writes import Ended, Piece, in_steps
from hermes_desktop.state.facade import long_deletion
from hermes_desktop.state.facade.store import Store
from hermes_desktop.state.import_export import importing
from hermes_desktop.state.import_export.importing import ImportReport, Session
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.sessions import sessions_table, transit_rows
from hermes_desktop.state.sessions.transit_rows import Mark, Way


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
        long_deletion.remove_partial_copy(db, [work.session_id], work.mark)
        raise
    if finished is None:
        long_deletion.remove_partial_copy(db, [work.session_id], work.mark)
        raise BusyError(
            "The session could not be imported.",
            f"Another program removed {work.session_id} while it was being written.",
            "Import it again; what is there already is skipped.",
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
