"""The row of a live session in state.db, which is created with the first prompt."""

import logging
from typing import Any

from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway import guard
from hermes_desktop.tui_gateway.serving_state import Session
from hermes_desktop.tui_gateway.session_record import source_of

log = logging.getLogger(__name__)


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
    guard.read_anew(db, session)


def _gone(key: str) -> NotFoundError:
    return NotFoundError(
        "This session is no longer there.",
        f"Another program deleted {key}.",
        "Start a new session; what was typed was not stored.",
    )


def end(db: SessionDB, session: Session, session_id: str, end_reason: str) -> None:
    """End the row, unless the session was only viewed. Never raises for the file."""
    if session.get("looked_only"):
        return
    try:
        db.end_session(session_id, end_reason)
    except HermesError as error:
        log.warning("Session %s could not be ended: %s", session_id, error)
