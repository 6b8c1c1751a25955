"""The copy of a conversation in the trash, and its check before the originals are deleted."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.conversations.trash_rows import ConversationScope
from hermes_desktop.state.facade.session_db import SessionDB
from hermes_desktop.state.records.stored_rows import read_snapshot, texts_as_stored
from hermes_desktop.state.sessions import deletion, lineage
from hermes_desktop.state.shared_tables import desktop_database
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash import trash_table

Taking = Callable[[sqlite3.Connection, str], ConversationScope | None]
"""Returns what is deleted together with a session; None when it must not be deleted."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """The parameters that a call of ``trash_sessions`` applies to all its items."""

    deleted_at: float
    reason: str
    taking: Taking


@dataclass(frozen=True, slots=True)
class Copied:
    """The content of a copy, and a fingerprint of the originals when it was made."""

    trash_id: int
    what: ConversationScope
    seen: tuple[object, ...]
    messages: int
    bytes: int


def make_copy(
    db: SessionDB, out: sqlite3.Connection, session_id: str, how: Deletion
) -> Copied | None:
    """Copy a conversation in a transaction of desktop.db; None when it must not be deleted."""

    def copy(conn: sqlite3.Connection) -> Copied | None:
        with read_snapshot(conn):
            what = how.taking(conn, session_id)
            if what is None:
                return None
            messages = sum(trash_rows.existing(conn, what.session_ids).values())
            size = trash_rows.size_of(conn, what)
            trash_id = _insert_item(conn, out, what, how, (messages, size))
            out.executemany(
                "INSERT INTO trash_rows (trash_id, place, kind, content) VALUES (?, ?, ?, ?)",
                (
                    (trash_id, place, kind, text)
                    for place, (kind, text) in enumerate(trash_rows.rows_of(conn, what))
                ),
            )
            trash_table.add_prompts(out, trash_id, what.session_ids)
            _hand_prompts_down(conn, out, what, how.deleted_at)
            trash_table.add_links(out, trash_id, what.links, what.session_ids)
            seen = trash_rows.fingerprint(conn, what)
            return Copied(trash_id, what, seen, messages, size)

    return db.read(copy)


def _hand_prompts_down(
    conn: sqlite3.Connection, out: sqlite3.Connection, what: ConversationScope, now: float
) -> None:
    """Store the inherited prompts of continuations and branches that stay."""
    for child, parent in what.links:
        before = lineage.context_sources(conn, child) if parent in what.session_ids else []
        prompt = desktop_database.first_prompt(out, before)
        if prompt is not None:
            desktop_database.add_prompts(out, {child: prompt}, now)


def _insert_item(
    conn: sqlite3.Connection,
    out: sqlite3.Connection,
    what: ConversationScope,
    how: Deletion,
    extent: tuple[int, int],
) -> int:
    row = conn.execute(
        "SELECT title, source FROM sessions WHERE id = ?", (what.root_id,)
    ).fetchone()
    last = lineage.compression_tip(conn, what.root_id)
    tip = conn.execute(
        "SELECT title FROM sessions WHERE id = ?",
        (last if last in what.session_ids else what.root_id,),
    ).fetchone()
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
            *extent,
            trash_table.COPIED,
        ),
    )
    return int(done.lastrowid or 0)


def delete_copied(
    own: DesktopDatabase, copies: Sequence[Copied], conn: sqlite3.Connection
) -> set[int]:
    """Delete the originals, except those that changed since or have no copy any more."""
    gone: set[int] = set()
    ids: dict[str, None] = {}
    for each in copies:
        there = trash_table.state(own, each.trash_id) == trash_table.COPIED
        if there and ids.keys().isdisjoint(each.what.session_ids) and is_same(each, conn):
            gone.add(each.trash_id)
            ids |= dict.fromkeys(each.what.session_ids)
    deletion.remove(conn, list(ids))
    return gone


def is_same(copied: Copied, conn: sqlite3.Connection) -> bool:
    """Return whether the originals are unchanged since they were copied."""
    with texts_as_stored(conn):
        return trash_rows.fingerprint(conn, copied.what) == copied.seen
