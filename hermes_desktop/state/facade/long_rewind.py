"""Undo, restore and clearing of many messages in short transactions, from the right end.

Undo starts with the newest messages, restore with the oldest. So a reader in between, or after a
crash, finds a conversation that ends earlier, never one with a hole. Repeating the operation
finishes it. Replacing many messages by *others* (``replace_messages``, ``archive_and_compact``) has
no such order: half of it would be a conversation that never took place, or none at all, and the
search index is rewritten row by row in any case. That remains one transaction.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from hermes_desktop.state.conversations import messages_table
from hermes_desktop.state.database.chunked_writes import Ended, Piece, fits_one, in_steps
from hermes_desktop.state.facade.long_deletion import message_pieces
from hermes_desktop.state.facade.store_face import WritingFace
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.stored_rows import chunks, marks


def rewind(db: WritingFace, session_id: str, message_id: int) -> dict[str, Any]:
    """Undo a user message and everything after it, see :func:`messages_table.rewind`.

    Raises:
        ValueError: The message is not in this session, or not the user's; nothing was changed.
        BusyError: Another program keeps the file locked; the newest messages may be undone.
    """
    name = clean_text(session_id)
    db.read(lambda conn: messages_table.target(conn, name, message_id))
    which = "session_id = ? AND id > ? AND active = 1"
    before = _in_short_steps(db, which, (name, message_id), _SET.format(0), newest_first=True)
    done = db._execute_write(lambda conn: messages_table.rewind(conn, name, message_id))  # noqa: SLF001 - same package
    return {**done, "rewound_count": done["rewound_count"] + before}


def restore(db: WritingFace, session_id: str, since_id: int) -> int:
    """Restore undone messages from this row on. Returns how many rows."""
    name = clean_text(session_id)
    which = "session_id = ? AND id >= ? AND active = 0"
    before = _in_short_steps(db, which, (name, since_id), _SET.format(1), newest_first=False)
    return before + db._execute_write(  # noqa: SLF001 - same package
        lambda conn: messages_table.restore_rewound(conn, name, since_id)
    )


def clear(db: WritingFace, session_id: str) -> None:
    """Delete every message of a session and reset its counters; no effect for an unknown one."""
    name = clean_text(session_id)
    _in_short_steps(db, "session_id = ?", (name,), _DELETE, newest_first=True)
    db._execute_write(lambda conn: messages_table.clear(conn, name))  # noqa: SLF001 - same package


_SET = "UPDATE messages SET active = {0} WHERE id IN ({{0}}) AND session_id = ? AND active <> {0}"
_DELETE = "DELETE FROM messages WHERE id IN ({0}) AND session_id = ?"


def _in_short_steps(
    db: WritingFace, which: str, values: tuple[Any, ...], change: str, *, newest_first: bool
) -> int:
    """Change what exceeds one transaction, all but the last step. Returns how many rows."""
    pieces: list[Piece[int]] = db.read(lambda conn: message_pieces(conn, which, values))
    if fits_one(len(pieces), sum(piece.bytes for piece in pieces)):
        return 0
    changed = 0

    def work(conn: sqlite3.Connection, ids: Sequence[int]) -> Ended | None:
        nonlocal changed
        done = 0
        for chunk in chunks(list(ids)):
            sql = change.format(marks(chunk))
            done += conn.execute(sql, (*chunk, values[0])).rowcount
        if change is _DELETE:
            messages_table.count_down(conn, values[0], done)
        changed += done
        return None

    in_steps(db, pieces[::-1] if newest_first else pieces, work)
    return changed
