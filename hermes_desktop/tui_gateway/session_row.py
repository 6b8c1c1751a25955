"""The row of a live session in state.db, and the detection of foreign writes to it.

It is created with the first prompt. Another program may change a session between turns: a live
session records the mark of its in-memory content, and if the mark in state.db differs, the session
is read again.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from hermes_desktop.agent.turns.turn_results import must_read_again, seen_after_turn
from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionMark
from hermes_desktop.tui_gateway.serving_state import Session
from hermes_desktop.tui_gateway.session_record import source_of

log = logging.getLogger(__name__)

_UNKNOWN: Final = object()


def note_mark(session: Session, mark: SessionMark | None) -> None:
    """Record the mark of the in-memory content; None: there is no row."""
    session["seen_mark"] = mark
    session["row_seen"] = session.get("row_seen", False) or mark is not None


def forget_mark(session: Session) -> None:
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
        note_mark(session, mark)
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
        forget_mark(session)
        session["row_seen"] = session.get("row_seen", False) or bool(written)
        return
    note_mark(session, seen_after_turn(before, written))


def is_known(session: Session) -> bool:
    """Return whether the in-memory content was ever known to match state.db."""
    return session.get("seen_mark", _UNKNOWN) is not _UNKNOWN


def begin(db: SessionDB, session: Session) -> dict[str, Any] | None:
    """Open the row for a turn, if there is one; messages supplied by a peer are stored.

    A missing row is created by the agent, together with its first message.

    Returns:
        The row as it was before; None when the session never had a message.

    Raises:
        NotFoundError: There was a row, and it is gone.
        HermesError: state.db is not available.
    """
    key = session["session_key"]
    row = db.get_session(key)
    if row is None and session.get("row_seen"):
        raise _gone(key)
    if row is None and session.get("seed"):
        _store_seed(db, session, session["seed"])
        del session["seed"]
    if row is not None and row.get("ended_at") is not None:
        db.reopen_session(key)
    return row


def _store_seed(db: SessionDB, session: Session, seed: list[dict[str, Any]]) -> None:
    key = session["session_key"]
    folder = session.get("cwd") if session.get("explicit_cwd") else None
    db.create_session(
        key, source_of(session), cwd=folder, parent_session_id=session.get("parent_session_id")
    )
    db.replace_messages(key, seed)
    read_anew(db, session)


def _gone(key: str) -> NotFoundError:
    return NotFoundError(
        "This session no longer exists.",
        f"Another program deleted {key}.",
        "Start a new session; your text was not stored.",
    )


def end(db: SessionDB, session: Session, session_id: str, end_reason: str) -> None:
    """End the row, unless the session was only viewed. Never raises for the file."""
    if session.get("looked_only"):
        return
    try:
        db.end_session(session_id, end_reason)
    except HermesError as error:
        log.warning("Session %s could not be ended: %s", session_id, error)
