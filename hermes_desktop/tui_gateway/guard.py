"""The guard against foreign writes: another program may change a conversation between turns.

A live session remembers the mark of what it has in memory. Where another one stands in state.db,
the conversation is read anew.
"""

from collections.abc import Mapping
from typing import Any, Final

from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionMark
from hermes_desktop.tui_gateway.serving_state import Session

_UNKNOWN: Final = object()


def note(session: Session, mark: SessionMark | None) -> None:
    """What is in memory is what stands there under this mark; None: no row."""
    session["seen_mark"] = mark
    session["row_seen"] = session.get("row_seen", False) or mark is not None


def forget(session: Session) -> None:
    """What is in memory is no longer known to be what stands there."""
    session["seen_mark"] = _UNKNOWN


def has_changed(db: SessionDB, session: Session) -> bool:
    """Whether somebody else changed the conversation. May ask state.db."""
    if "seen_mark" not in session:
        return False  # made by somebody who does not keep marks
    return bool(session["seen_mark"] != db.session_mark(session["session_key"]))


def read_anew(db: SessionDB, session: Session) -> None:
    """Read the conversation from state.db."""
    key = session["session_key"]
    mark = db.session_mark(key)  # before the history: rows in between are read again
    history = db.get_messages_as_conversation(key) if mark is not None else []
    shown_before = _before_compression(db, key) if mark is not None else []
    with session["history_lock"]:
        session["history"] = history
        session["shown_before"] = shown_before
        session["history_version"] += 1
        note(session, mark)
    session["bind_needed"] = True


def _before_compression(db: SessionDB, key: str) -> list[dict[str, Any]]:
    """What was said in the earlier segments of a conversation."""
    parts = db.get_compression_lineage(key)
    earlier = parts[: parts.index(key)] if key in parts else []
    return [message for part in earlier for message in db.get_messages_as_conversation(part)]


def note_turn(
    session: Session, before: SessionMark | None, key: str, result: Mapping[str, Any]
) -> None:
    """After a turn: what stood there before it, and the rows it wrote itself.

    After anything but a plain good end, and after the conversation got another id, it is read anew
    next time.
    """
    plain = not any(result.get(name) for name in ("failed", "interrupted", "partial"))
    written = result.get("written_message_ids")
    moved = (result.get("session_id") or key) != key
    if not plain or moved or not isinstance(written, list):
        forget(session)
        session["row_seen"] = session.get("row_seen", False) or bool(written)
        return
    count = before.message_count if before is not None else 0
    rewinds = before.rewind_count if before is not None else 0
    newest = before.newest_message_id if before is not None else 0
    note(session, SessionMark(count + len(written), rewinds, max(written, default=newest)))


def is_known(session: Session) -> bool:
    """Whether what is in memory was ever known to be what stands in state.db."""
    return session.get("seen_mark", _UNKNOWN) is not _UNKNOWN
