"""Insertion of the original rows from the trash, in one transaction or in many.

A long conversation is inserted hidden, see :mod:`transit_rows`, and revealed with the last step.
"""

import json
import os
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hermes_desktop.core.ids import new_session_id
from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.conversations.trash_rows import NAMED_PROMPTS, Kept
from hermes_desktop.state.database.chunked_writes import Ended, OnStep, fits_one, in_steps, unheard
from hermes_desktop.state.facade.session_db import SessionDB
from hermes_desktop.state.records.stored_rows import (
    Row,
    chunks,
    insert_row,
    insert_rows,
    insertable,
    marks,
)
from hermes_desktop.state.sessions import transit_rows
from hermes_desktop.state.sessions.transit_rows import Mark, Way
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash import trash_table

_MARKERS = ("_delegate_from", "_branched_from")


@dataclass(frozen=True, slots=True)
class Plan:
    """The ids under which an item is restored.

    Attributes:
        token: The mark of its sessions in transit.
        ids: New id of each session by its previous id.
        first: Row id of its first message; None: all keep their previous ids.
    """

    token: str
    ids: Mapping[str, str]
    first: int | None = None

    @property
    def text(self) -> str:
        """The plan as text, as desktop.db keeps it."""
        return json.dumps({"token": self.token, "ids": dict(self.ids), "first": self.first})

    @classmethod
    def of(cls, text: str) -> "Plan":
        """Parse a plan from :attr:`text`."""
        return cls(**json.loads(text))


def make_plan(db: SessionDB, kept: Kept) -> Plan:
    """Return a plan that gives new ids where the previous ones were taken in the meantime."""

    def look(conn: sqlite3.Connection) -> Plan:
        taken = trash_rows.existing(conn, kept.ids)
        now = datetime.now()  # noqa: DTZ005 - session ids hold local time
        ids = {each: new_session_id(now) if each in taken else each for each in kept.ids}
        first = None if _are_free(conn, kept) else _greatest_id(conn) + 1
        return Plan(secrets.token_hex(8), ids, first)

    return db.read(look)


def _are_free(conn: sqlite3.Connection, kept: Kept) -> bool:
    return not any(
        conn.execute(
            f"SELECT 1 FROM messages WHERE id IN ({marks(chunk)}) LIMIT 1", chunk
        ).fetchone()
        for chunk in chunks([row["id"] for row in kept.messages])
    )


def _greatest_id(conn: sqlite3.Connection) -> int:
    row = conn.execute(
        "SELECT max(coalesce((SELECT max(seq) FROM main.sqlite_sequence WHERE name = 'messages'), "
        "0), coalesce((SELECT max(id) FROM messages), 0))"
    ).fetchone()
    return int(row[0])


def restore_item(
    db: SessionDB,
    own: DesktopDatabase,
    trash_id: int,
    kept: Kept,
    plan: Plan,
    on_step: OnStep = unheard,
) -> Mapping[str, str] | None:
    """Restore an item with a plan recorded in desktop.db; resume it if it was interrupted.

    Returns:
        The titles that had to change, by session id. None: the plan does not fit any more, or is
        not the latest.
    """
    pieces = kept.pieces()
    olds = [piece.value["id"] for piece in pieces]
    numbers = olds if plan.first is None else range(plan.first, plan.first + len(olds))
    way = _RestoreSteps(own, trash_id, kept, plan, dict(zip(olds, numbers, strict=True)))
    if fits_one(len(pieces), sum(piece.bytes for piece in pieces)):
        return db._execute_write(way.at_once)
    if not db._execute_write(way.begin):
        return None
    if in_steps(db, pieces, way.insert, on_step=on_step) is None:
        retitled = db._execute_write(way.finish)
        if retitled is not None:
            return retitled
    # Another process of this program may have finished it.
    return {} if trash_table.state(own, trash_id) is None else None


@dataclass(frozen=True, slots=True)
class _RestoreSteps:
    """The steps of a restore; each runs inside a write transaction."""

    own: DesktopDatabase
    trash_id: int
    kept: Kept
    plan: Plan
    numbers: Mapping[int, int]
    """New row id of each message by its previous id."""

    def at_once(self, conn: sqlite3.Connection) -> Mapping[str, str] | None:
        if not self.begin(conn) or self.insert(conn, self.kept.messages) is not None:
            return None
        return self.finish(conn)

    def begin(self, conn: sqlite3.Connection) -> bool:
        """Insert the sessions, hidden; False when an id was taken since the plan was made."""
        found = transit_rows.marked(conn, self.plan.ids.values())
        ours = all(mark is not None and mark.token == self.plan.token for mark in found.values())
        if not self._is_latest() or not ours or not (found or self._ids_are_free(conn)):
            return False
        self._insert_prompts(conn)
        for row in self.kept.sessions:
            if self.plan.ids[row["id"]] not in found:
                self._insert_session(conn, row)
        if not found and self.plan.first is not None and self.kept.messages:
            # Inserting the greatest id first reserves the ids below it.
            self.insert(conn, [max(self.kept.messages, key=lambda row: row["id"])])
        return True

    def _ids_are_free(self, conn: sqlite3.Connection) -> bool:
        if self.plan.first is None:
            return _are_free(conn, self.kept)
        return _greatest_id(conn) < self.plan.first

    def _insert_prompts(self, conn: sqlite3.Connection) -> None:
        """Insert prompts to which the sessions refer by hash and which were deleted since."""
        present = insertable(conn, NAMED_PROMPTS)
        if "hash" in present:
            insert_rows(conn, NAMED_PROMPTS, present, self.kept.system_prompts, "OR IGNORE")

    def _insert_session(self, conn: sqlite3.Connection, row: Row) -> None:
        ids = self.plan.ids
        parent = row.get("parent_session_id")
        values = {
            **row,
            "id": ids[row["id"]],
            "model_config": _remarked(row.get("model_config"), ids),
            "parent_session_id": ids.get(parent or "", parent),
        }
        if not _is_prompt_there(conn, row):  # copies made by earlier versions lack its text
            values["system_prompt_hash"] = None
        number = conn.execute("SELECT 1 FROM sessions WHERE rowid = ?", (values["rowid"],))
        if number.fetchone() is not None:
            del values["rowid"]
        at = row["started_at"] if isinstance(row["started_at"], float) else 0.0
        mark = Mark(Way.FROM_TRASH, self.plan.token, at, 0, os.getpid())
        transit_rows.insert_hidden(conn, values, mark)

    def insert(self, conn: sqlite3.Connection, rows: Sequence[Row]) -> Ended | None:
        """Insert those messages that do not exist yet."""
        if not self._is_under_way(conn):
            return Ended.CROSSED
        planned = {self.numbers[row["id"]]: row for row in rows}
        there = {
            found[0]: found[1]
            for chunk in chunks(list(planned))
            for found in conn.execute(
                f"SELECT id, session_id FROM messages WHERE id IN ({marks(chunk)})", chunk
            ).fetchall()
        }
        fresh: list[Row] = []
        for row_id in sorted(planned):
            row = planned[row_id]
            values = {**row, "id": row_id, "session_id": self.plan.ids[row["session_id"]]}
            if there.get(row_id) == values["session_id"]:
                continue
            if row_id in there:  # a row with this id has just been imported
                del values["id"]
            fresh.append(values)
        insert_rows(conn, "messages", insertable(conn, "messages"), fresh)
        return None

    def finish(self, conn: sqlite3.Connection) -> Mapping[str, str] | None:
        """Reveal the sessions, which are complete now."""
        if not self._is_under_way(conn):
            return None
        ids = self.plan.ids
        present = insertable(conn, "session_model_usage")
        for row in self.kept.usage:
            values = {**row, "session_id": ids[row["session_id"]]}
            insert_row(conn, "session_model_usage", present, values, "OR IGNORE")
        retitled = transit_rows.reveal(conn, ids.values())
        links = [(ids.get(child, child), ids.get(up, up)) for child, up in self.kept.links]
        transit_rows.tie(conn, links)
        return retitled

    def _is_under_way(self, conn: sqlite3.Connection) -> bool:
        return self._is_latest() and transit_rows.all_carry(
            conn, self.plan.ids.values(), self.plan.token
        )

    def _is_latest(self) -> bool:
        noted = self.own.read(lambda out: trash_table.noted(out, self.trash_id), default=None)
        return noted == (trash_table.RESTORING, self.plan.text)


def _remarked(config: Any, new_ids: Mapping[str, str]) -> Any:
    """Return the settings with marks that refer to sessions by their new ids."""
    if not isinstance(config, str) or all(old == new for old, new in new_ids.items()):
        return config
    try:
        decoded = json.loads(config)
    except (ValueError, RecursionError):
        return config
    if not isinstance(decoded, dict):
        return config
    named = {n: decoded[n] for n in _MARKERS if isinstance(decoded.get(n), str)}
    moved = {n: new_ids[named[n]] for n in named if named[n] in new_ids}
    return json.dumps({**decoded, **moved}) if moved else config


def _is_prompt_there(conn: sqlite3.Connection, row: Row) -> bool:
    """Return whether the prompt to which a session refers exists; True without a reference."""
    named = row.get("system_prompt_hash")
    if named is None or "hash" not in insertable(conn, NAMED_PROMPTS):
        return True
    found = conn.execute(f"SELECT 1 FROM main.{NAMED_PROMPTS} WHERE hash = ?", (named,))
    return found.fetchone() is not None
