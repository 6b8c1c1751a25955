"""Methods of SessionDB for a messaging gateway: chats, routes, hand-offs, locks, deliveries.

The first parameter of each is the open store; ``SessionDB`` takes them as its methods. The routing
rows belong to the process that holds the gateway's lock; nothing in this program calls their
writers without it.
"""

import sqlite3
from collections.abc import Callable, Collection, Mapping
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.state.conversations import compaction, stored_replies
from hermes_desktop.state.conversations.compaction import LOCK_LIFETIME_S, CompressionLock
from hermes_desktop.state.database.schema import SCHEMA_VERSION
from hermes_desktop.state.facade.store import Store, reads, writes
from hermes_desktop.state.records.records import SessionRow
from hermes_desktop.state.sessions import sessions_table
from hermes_desktop.state.shared_tables import delivery_table, gateway_tables
from hermes_desktop.state.shared_tables.delivery_table import Obligation, ObligationState, Owner
from hermes_desktop.state.shared_tables.gateway_tables import Entry


@reads
def find_latest_gateway_session_for_peer(
    db: Store, /, *, source: str, session_key: str | None = None, **address: str | None
) -> SessionRow | None:
    """Return the session with which a chat continues; see :func:`sessions_table.latest_of_peer`.

    Args:
        source: The platform, exactly as stored.
        session_key: The routing key; without one the result is None.
        address: ``user_id``, ``chat_id``, ``chat_type`` and ``thread_id``.
    """
    peer = {**address, "source": source, "session_key": session_key}
    return db.read(lambda conn: sessions_table.latest_of_peer(conn, peer))


@writes
def record_gateway_session_peer(
    db: Store,
    /,
    session_id: str,
    *,
    source: str,
    session_key: str | None = None,
    **peer: str | None,
) -> None:
    """Store which chat a session belongs to; no effect without a key.

    Args:
        session_id: The session.
        source: The platform.
        session_key: The routing key.
        peer: ``user_id``, ``chat_id``, ``chat_type``, ``thread_id`` (overwritten), and
            ``display_name``, ``origin_json`` (kept where None).
    """
    values = {**peer, "source": source, "session_key": session_key}
    db._execute_write(lambda conn: sessions_table.record_peer(conn, session_id, values))


@writes
def set_expiry_finalized(
    db: Store,
    session_id: str,
    finalized: bool = True,  # noqa: FBT001, FBT002 - positional in programs that use this class
) -> None:
    """Record that the end of an expired chat session was handled."""
    db._execute_write(
        lambda conn: sessions_table.set_column(conn, session_id, "expiry_finalized", int(finalized))
    )


@reads
def load_gateway_routing_entries(db: Store, *, scope: str = "") -> dict[str, str]:
    """Return the routing entries of a scope as JSON text, by key."""
    return db.read(lambda conn: gateway_tables.load_routing(conn, scope))


@writes
def save_routing_changes(
    db: Store, *, scope: str, changed: Mapping[str, Entry], removed: Collection[str] = ()
) -> int:
    """Save the changes of a routing index in one transaction. Returns how many rows changed.

    Args:
        scope: Resolved path of the sessions folder.
        changed: Entries to store, by key.
        removed: Keys that the caller knew and removed; unknown ones of other writers stay.
    """
    now = db._clock.time()
    return db._execute_write(
        lambda conn: gateway_tables.save_routing(conn, scope, changed, removed, now)
    )


@reads
def get_handoff_state(db: Store, session_id: str) -> dict[str, Any] | None:
    """Return ``state``, ``platform`` and ``error`` of a hand-off; None if unknown."""
    return db.read(lambda conn: gateway_tables.handoff_state(conn, session_id))


@reads
def list_pending_handoffs(db: Store) -> list[SessionRow]:
    """Return the sessions with a pending hand-off to a chat, the oldest first."""
    return db.read(gateway_tables.pending_handoffs)


@writes
def request_handoff(db: Store, session_id: str, platform: str) -> bool:
    """Request a hand-off of a session to a chat. False: unknown, or already in progress."""
    return db._execute_write(
        lambda conn: gateway_tables.request_handoff(conn, session_id, platform)
    )


@writes
def claim_handoff(db: Store, session_id: str) -> bool:
    """Claim a hand-off; True for exactly one of several callers."""
    return db._execute_write(lambda conn: gateway_tables.claim_handoff(conn, session_id))


@writes
def complete_handoff(db: Store, session_id: str) -> None:
    """Mark a hand-off as completed."""
    db._execute_write(lambda conn: gateway_tables.finish_handoff(conn, session_id, None))


@writes
def fail_handoff(db: Store, session_id: str, error: str) -> None:
    """Mark a hand-off as failed, with the error."""
    db._execute_write(lambda conn: gateway_tables.finish_handoff(conn, session_id, str(error)))


@reads
def get_compression_lock_holder(db: Store, session_id: str) -> str | None:
    """Return the holder of a session's compression lock, None if it is not held."""
    now = db._clock.time()
    return db.read(lambda conn: compaction.lock_holder(conn, session_id, now))


@reads
def compression_lock(db: Store, session_id: str) -> CompressionLock | None:
    """Return a session's compression lock, None if it is not held."""
    now = db._clock.time()
    return db.read(lambda conn: compaction.held_lock(conn, session_id, now))


@writes
def try_acquire_compression_lock(
    db: Store, session_id: str, holder: str, ttl_seconds: float = LOCK_LIFETIME_S
) -> bool:
    """Acquire a session's compression lock. False: it is held elsewhere, or the store fails."""
    now = db._clock.time()
    return _or_false(
        db, lambda conn: compaction.acquire_lock(conn, session_id, holder, now, ttl_seconds)
    )


@writes
def refresh_compression_lock(
    db: Store, session_id: str, holder: str, ttl_seconds: float = LOCK_LIFETIME_S
) -> bool:
    """Extend a compression lock. False: it is lost."""
    now = db._clock.time()
    return _or_false(
        db, lambda conn: compaction.refresh_lock(conn, session_id, holder, now, ttl_seconds)
    )


@writes
def release_compression_lock(db: Store, session_id: str, holder: str) -> None:
    """Release a compression lock; it also expires automatically."""

    def release(conn: sqlite3.Connection) -> bool:
        compaction.release_lock(conn, session_id, holder)
        return True

    _or_false(db, release)


def _or_false(db: Store, fn: Callable[[sqlite3.Connection], bool]) -> bool:
    try:
        return db._execute_write(fn)
    except (HermesError, sqlite3.Error):
        return False


@reads
def get_compression_failure_cooldown(db: Store, session_id: str) -> dict[str, Any] | None:
    """Return ``cooldown_until``, ``remaining_seconds`` and ``error``; None if not set."""
    now = db._clock.time()
    return db.read(lambda conn: compaction.cooldown(conn, session_id, now))


@writes
def record_compression_failure_cooldown(
    db: Store, session_id: str, cooldown_until: float, error: str | None = None
) -> None:
    """Record that compression failed and must not be retried before a time (epoch seconds)."""
    db._execute_write(lambda conn: compaction.set_cooldown(conn, session_id, cooldown_until, error))


@writes
def clear_compression_failure_cooldown(db: Store, session_id: str) -> None:
    """Clear the compression cooldown."""
    db._execute_write(lambda conn: compaction.set_cooldown(conn, session_id, None, None))


@reads
def get_compression_fallback_streak(db: Store, session_id: str) -> int:
    """Return how often in a row compression used its fallback."""
    name = "compression_fallback_streak"
    return int(db.read(lambda conn: sessions_table.column(conn, session_id, name)) or 0)


@writes
def set_compression_fallback_streak(db: Store, session_id: str, streak: int) -> None:
    """Store how often in a row compression used its fallback, at least 0."""
    name = "compression_fallback_streak"
    value = max(0, int(streak))
    db._execute_write(lambda conn: sessions_table.set_column(conn, session_id, name, value))


def keeps_deliveries(db: Store) -> bool:
    """Return whether the outbox may be stored in this file.

    The file is writable, not of a newer version, and the table has no other columns.
    """
    version = db.layout.version
    if not db.condition.writable or version is None or version > SCHEMA_VERSION:
        return False
    return db.read(delivery_table.fits)


@reads
def open_deliveries(db: Store, platforms: Collection[str]) -> list[Obligation]:
    """Return replies for these platforms not known to be delivered, the oldest first."""
    return db.read(lambda conn: delivery_table.open_ones(conn, platforms))


@reads
def delivery_owed_since(db: Store, session_key: str, since: float) -> bool:
    """Return whether a reply to a chat was recorded at or after a time."""
    return db.read(lambda conn: delivery_table.owed_since(conn, session_key, since))


@writes
def owe_delivery(db: Store, owed: Obligation, owner: Owner) -> None:
    """Store a reply before it is sent."""
    now = db._clock.time()
    _on_deliveries(db, lambda conn: delivery_table.owe(conn, owed, owner, now))


@writes
def set_delivery_state(
    db: Store, obligation_id: str, state: ObligationState, error: str | None = None
) -> None:
    """Store the delivery state of a reply."""
    now = db._clock.time()
    _on_deliveries(
        db, lambda conn: delivery_table.set_state(conn, obligation_id, state, now, error)
    )


@writes
def take_over_delivery(db: Store, owed: Obligation, owner: Owner) -> bool:
    """Claim a reply; False when another process was faster."""
    now = db._clock.time()
    return bool(_on_deliveries(db, lambda conn: delivery_table.take_over(conn, owed, owner, now)))


@writes
def forgive_delivery_attempt(db: Store, obligation_id: str) -> None:
    """Subtract an attempt that was certainly never sent."""
    _on_deliveries(db, lambda conn: delivery_table.forgive(conn, obligation_id))


@writes
def prune_deliveries(db: Store) -> None:
    """Delete old settled replies."""
    now = db._clock.time()
    _on_deliveries(db, lambda conn: delivery_table.prune(conn, now))


def _on_deliveries(db: Store, fn: Callable[[sqlite3.Connection], Any]) -> Any:
    def run(conn: sqlite3.Connection) -> Any:
        delivery_table.ensure(conn)
        return fn(conn)

    return db._execute_write(run)


@reads
def last_message_row(db: Store) -> int:
    """Return the greatest row id of all messages, 0 when there are none."""
    return int(
        db.read(lambda conn: conn.execute("SELECT max(id) FROM messages").fetchone()[0]) or 0
    )


@reads
def reply_after(
    db: Store, session_id: str, after_row: int, message_id: str | None = None
) -> str | None:
    """Return the finished reply with which a conversation ends, if it was added after a row.

    Args:
        session_id: The conversation, by its id at that time.
        after_row: The row.
        message_id: The platform's message that it answers. If another sender wrote just before
            or after that, it is ambiguous which message the reply answers: the result is None then.
    """
    return db.read(lambda conn: stored_replies.reply_after(conn, session_id, after_row, message_id))


@reads
def prompt_stored_after(
    db: Store, session_id: str, after_row: int, message_id: str | None = None
) -> bool:
    """Return whether a platform's message is in a conversation; without an id, any prompt."""
    return db.read(
        lambda conn: stored_replies.prompt_after(conn, session_id, after_row, message_id)
    )


@reads
def overtaken_after(db: Store, session_id: str, after_row: int, message_id: str | None) -> bool:
    """Return whether the last reply may answer another message than the platform's one."""
    return db.read(
        lambda conn: stored_replies.is_overtaken(conn, session_id, after_row, message_id)
    )


@reads
def chat_has_message(db: Store, session_key: str, message_id: str) -> bool:
    """Return whether a platform's message is stored in one of the latest sessions of a chat."""
    return db.read(lambda conn: stored_replies.chat_has_message(conn, session_key, message_id))
