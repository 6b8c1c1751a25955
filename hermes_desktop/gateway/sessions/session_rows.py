"""Queries of state.db about the session of a chat, and the marks that a gateway sets there."""

import json
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.sessions.session_records import SessionEntry, SessionSource

if TYPE_CHECKING:
    from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)

Row = Mapping[str, Any]
"""A row of ``sessions``."""


def find_recoverable(db: "SessionDB", session_key: str, source: SessionSource) -> Row | None:
    """Return the last session of a chat without an entry, if it may continue."""
    return db.find_latest_gateway_session_for_peer(
        source=source.platform.value,
        session_key=session_key,
        user_id=source.user_id,
        chat_id=source.chat_id,
        chat_type=source.chat_type,
        thread_id=source.thread_id,
    )


def newer_recoverable(
    db: "SessionDB", session_key: str, source: SessionSource, ended: Row
) -> Row | None:
    """Return the session to continue after one was ended: none that began before it.

    An older session that was never ended was left by a reset; continuing it would undo that.
    """
    row = find_recoverable(db, session_key, source)
    return row if row is not None and row["started_at"] >= ended["started_at"] else None


def follow_or_recover(db: "SessionDB", session_key: str, entry: SessionEntry) -> str | None:
    """Return the session that a stored entry should name; None when there is none any more.

    Raises:
        HermesError: state.db is not available.
    """
    if entry.platform is Platform.DESKTOP:
        return entry.session_id
    tip, row = tip_of(db, entry.session_id)
    if row is None or row["end_reason"] is None:
        return tip
    if entry.origin is None:
        return None
    found = newer_recoverable(db, session_key, entry.origin, row)
    if found is None:
        return None
    if found["end_reason"] is not None:
        db.reopen_session(found["id"])
    return str(found["id"])


def tip_of(db: "SessionDB", session_id: str) -> tuple[str, Row | None]:
    """Return the tip of a compaction chain, and the row there, if there is one."""
    tip = db.get_compression_tip(session_id) or session_id
    return tip, db.get_session(tip)


def last_message_time(db: "SessionDB", row: Row, clock: Clock) -> datetime:
    """Return the time of the last message in a session, in local time."""
    summary = db.summary(row["id"])
    stamp = float(row["started_at"]) if summary is None else summary.last_active
    return local_time(stamp, clock)


def local_time(stamp: float, clock: Clock) -> datetime:
    """Return epoch seconds as local time without a zone, by the same clock that defines now.

    A time beyond the calendar becomes now.
    """
    now = clock.now()
    try:
        return now - timedelta(seconds=clock.time() - stamp)
    except OverflowError:
        return now


def attempt(doing: str, call: Callable[[], Any]) -> None:
    """Set a mark in state.db that the chat does not depend on; a failure is only logged."""
    try:
        call()
    except HermesError as error:
        log.warning("%s failed: %s", doing, error)


def begin_row(db: "SessionDB", entry: SessionEntry, source: SessionSource, profile: str) -> None:
    """Create the row of a new session, with the chat it belongs to.

    Raises:
        HermesError: It cannot be written.
    """
    db.create_session(
        entry.session_id,
        source=source.platform.value,
        user_id=source.user_id,
        session_key=entry.session_key,
        chat_id=source.chat_id,
        chat_type=source.chat_type,
        thread_id=source.thread_id,
        profile_name=source.profile or (None if profile == "main" else profile),
    )
    record_peer(db, entry.session_id, entry.session_key, source, entry.display_name)


def record_peer(
    db: "SessionDB",
    session_id: str,
    session_key: str,
    source: SessionSource,
    display_name: str | None,
) -> None:
    """Store which chat a session belongs to.

    Raises:
        HermesError: It cannot be written.
    """
    db.record_gateway_session_peer(
        session_id,
        source=source.platform.value,
        session_key=session_key,
        user_id=source.user_id,
        chat_id=source.chat_id,
        chat_type=source.chat_type,
        thread_id=source.thread_id,
        display_name=display_name,
        origin_json=json.dumps(source.to_dict()),
    )
