"""The tables of the trash in desktop.db."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.state.conversations.trash_rows import Kept
from hermes_desktop.state.records.stored_rows import encode_row
from hermes_desktop.state.shared_tables import desktop_database
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

_PROMPTS = "prompts"

COPIED, LEAVING, DELETED, RESTORING = "copied", "leaving", "deleted", "restoring"
"""The states of an item.

Copied, but perhaps still in the shared file; being removed from it; only in the trash; perhaps in
both.
"""


@dataclass(frozen=True, slots=True)
class TrashItem:
    """One conversation in the trash.

    Attributes:
        trash_id: Its id in the trash.
        deleted_at: Epoch seconds.
        reason: The reason given for the deletion.
        root_id: Id of its first segment.
        session_count: Segments and subagents.
        bytes: Approximate size of the rows.
    """

    trash_id: int
    deleted_at: float
    reason: str
    root_id: str
    title: str | None
    source: str
    session_count: int
    message_count: int
    bytes: int


_FIELDS = (
    "deleted_at",
    "reason",
    "root_id",
    "title",
    "source",
    "session_count",
    "message_count",
    "bytes",
)
COLUMNS = ", ".join(("id", *_FIELDS))


def made(row: sqlite3.Row) -> TrashItem:
    """Return an item from its row."""
    return TrashItem(row["id"], **{name: row[name] for name in _FIELDS})


def item(out: sqlite3.Connection, trash_id: int) -> TrashItem | None:
    """Return one item, None when it does not exist."""
    row = out.execute(f"SELECT {COLUMNS} FROM trash WHERE id = ?", (trash_id,)).fetchone()
    return None if row is None else made(row)


def unsettled(out: sqlite3.Connection) -> list[int]:
    """Return the items of which a delete or restore is unfinished."""
    rows = out.execute("SELECT id FROM trash WHERE state <> ? ORDER BY id", (DELETED,)).fetchall()
    return [row[0] for row in rows]


def kept(out: sqlite3.Connection, trash_id: int) -> Kept:
    """Return all rows of one item."""
    rows = out.execute(
        "SELECT kind, content FROM trash_rows WHERE trash_id = ? ORDER BY place", (trash_id,)
    ).fetchall()
    links = out.execute(
        "SELECT child, parent FROM trash_links WHERE trash_id = ? ORDER BY child", (trash_id,)
    ).fetchall()
    return Kept.of([(row[0], row[1]) for row in rows], [(row[0], row[1]) for row in links])


def add_links(
    out: sqlite3.Connection,
    trash_id: int,
    links: Iterable[tuple[str, str]],
    session_ids: Iterable[str],
) -> None:
    """Store parent links, also those to sessions that were moved to the trash before.

    When one item is restored, the session at the other end may still be missing; the item restored
    last re-establishes the link, whichever it is.
    """
    add = "INSERT OR IGNORE INTO trash_links (trash_id, child, parent) VALUES (?, ?, ?)"
    out.executemany(add, [(trash_id, child, parent) for child, parent in links])
    out.executemany(
        "INSERT OR IGNORE INTO trash_links (trash_id, child, parent) "
        "SELECT ?1, child, parent FROM trash_links WHERE child = ?2 OR parent = ?2",
        [(trash_id, session_id) for session_id in session_ids],
    )


def column(out: sqlite3.Connection, trash_id: int, name: str) -> Any:
    """Return one column of an item, None when it does not exist."""
    row = out.execute(f"SELECT {name} FROM trash WHERE id = ?", (trash_id,)).fetchone()
    return None if row is None else row[0]


def state(own: DesktopDatabase, trash_id: int) -> Any:
    """Return the state of an item, None when it does not exist."""
    return own.read(lambda out: column(out, trash_id, "state"), default=None)


def noted(out: sqlite3.Connection, trash_id: int) -> tuple[str, str | None] | None:
    """Return state and plan of an item, None when it does not exist."""
    row = out.execute("SELECT state, plan FROM trash WHERE id = ?", (trash_id,)).fetchone()
    return None if row is None else (row[0], row[1])


def set_state(out: sqlite3.Connection, trash_id: int, state: str, plan: str | None = None) -> None:
    """Store the state of an item, and the plan of the operation on it."""
    out.execute("UPDATE trash SET state = ?, plan = ? WHERE id = ?", (state, plan, trash_id))


def add_prompts(out: sqlite3.Connection, trash_id: int, session_ids: Sequence[str]) -> None:
    """Copy this program's prompts of these sessions into an item."""
    place = out.execute(
        "SELECT coalesce(max(place), -1) + 1 FROM trash_rows WHERE trash_id = ?", (trash_id,)
    ).fetchone()[0]
    found = desktop_database.prompts_of(out, session_ids).items()
    out.executemany(
        "INSERT INTO trash_rows (trash_id, place, kind, content) VALUES (?, ?, ?, ?)",
        [
            (trash_id, number, _PROMPTS, encode_row({"session_id": each, "prompt": text}))
            for number, (each, text) in enumerate(found, place)
        ],
    )


def bring_prompts_back(
    out: sqlite3.Connection, trash_id: int, ids: Mapping[str, str], now: float
) -> None:
    """Store the prompts of an item by the ids under which its sessions are restored."""
    found = {ids[row["session_id"]]: row["prompt"] for row in kept(out, trash_id).prompts}
    desktop_database.add_prompts(out, found, now)


def set_deleted(out: sqlite3.Connection, trash_id: int, ids: Iterable[str]) -> None:
    """Mark an item as only in the trash; the prompts of these sessions are deleted."""
    set_state(out, trash_id, DELETED)
    desktop_database.remove_prompts(out, list(ids))


def drop(out: sqlite3.Connection, trash_id: int) -> None:
    """Delete an item and its rows."""
    out.execute("DELETE FROM trash WHERE id = ?", (trash_id,))
