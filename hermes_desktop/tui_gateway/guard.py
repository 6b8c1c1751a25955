"""Detection of foreign writes: another program may change a session between turns.

A live session records the mark of its in-memory content. If the mark in state.db differs, the
session is read again.
"""

from collections.abc import Mapping
from typing import Any, Final

from hermes_desktop.agent.turns.baseline import must_read_again, seen_after_turn
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionMark
from hermes_desktop.tui_gateway.serving_state import Session

_UNKNOWN: Final = object()


def note(session: Session, mark: SessionMark | None) -> None:
    """Record the mark of the in-memory content; None: there is no row."""
    session["seen_mark"] = mark
    session["row_seen"] = session.get("row_seen", False) or mark is not None


def forget(session: Session) -> None:
    """Drop the recorded mark: the in-memory content may differ from state.db."""
    session["seen_mark"] = _UNKNOWN


def has_changed(db: SessionDB, session: Session) -> bool:
    """Return whether another program changed the session. May read state.db."""
    if "seen_mark" not in session:
        return False  # created by code that records no marks
    return bool(session["seen_mark"] != db.session_mark(session["session_key"]))


def read_anew(db: SessionDB, session: Session) -> None:
    """Read the session from state.db."""
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
    """Return the messages of the earlier segments of a conversation."""
    parts = db.get_compression_lineage(key)
    earlier = parts[: parts.index(key)] if key in parts else []
    return [message for part in earlier for message in db.get_messages_as_conversation(part)]


def note_turn(
    session: Session, before: SessionMark | None, key: str, result: Mapping[str, Any]
) -> None:
    """Record the mark after a turn: that before the turn plus the rows it wrote itself.

    After anything but a normal end, and after the session got another id, it is read again next
    time.
    """
    written = result.get("written_message_ids")
    if must_read_again(result, key) or not isinstance(written, list):
        forget(session)
        session["row_seen"] = session.get("row_seen", False) or bool(written)
        return
    note(session, seen_after_turn(before, written))


def is_known(session: Session) -> bool:
    """Return whether the in-memory content was ever known to match state.db."""
    return session.get("seen_mark", _UNKNOWN) is not _UNKNOWN
