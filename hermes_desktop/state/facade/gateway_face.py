"""The methods of SessionDB for a messaging gateway.

The routing rows belong to the process that holds the gateway's lock; nothing in this program calls
their writers without it.
"""

import sqlite3
from collections.abc import Callable, Collection, Mapping
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.state.conversations import compression_locks
from hermes_desktop.state.conversations.compression_locks import LIFETIME_S, CompressionLock
from hermes_desktop.state.facade.store_face import StoreReader, WritingFace
from hermes_desktop.state.records.records import SessionRow
from hermes_desktop.state.sessions import peers, sessions_table
from hermes_desktop.state.shared_tables import handoff_table, routing_table
from hermes_desktop.state.shared_tables.routing_table import Entry


class GatewayReads(StoreReader):
    """The part of ``SessionDB`` that finds sessions by their chats."""

    def list_gateway_sessions(
        self, *, platform: str | None = None, active_only: bool = True
    ) -> list[SessionRow]:
        """Return the newest session of each chat; see :func:`peers.newest_by_key`."""
        return self.read(lambda conn: peers.newest_by_key(conn, platform, active_only=active_only))

    def find_session_by_origin(
        self,
        *,
        platform: str,
        chat_id: str,
        thread_id: str | None = None,
        user_id: str | None = None,
    ) -> str | None:
        """Return the open session of a chat; see :func:`peers.find_by_origin`."""
        return self.read(
            lambda conn: peers.find_by_origin(
                conn, platform=platform, chat_id=chat_id, thread_id=thread_id, user_id=user_id
            )
        )

    def find_latest_gateway_session_for_peer(
        self, /, *, source: str, session_key: str | None = None, **address: str | None
    ) -> SessionRow | None:
        """Return the session with which a chat continues; see :func:`peers.latest_of_peer`.

        Args:
            source: The platform, exactly as stored.
            session_key: The routing key; without one the result is None.
            address: ``user_id``, ``chat_id``, ``chat_type`` and ``thread_id``.
        """
        peer = {**address, "source": source, "session_key": session_key}
        return self.read(lambda conn: peers.latest_of_peer(conn, peer))

    def load_gateway_routing_entries(self, *, scope: str = "") -> dict[str, str]:
        """Return the routing entries of a scope as JSON text, by key."""
        return self.read(lambda conn: routing_table.load(conn, scope))

    def get_handoff_state(self, session_id: str) -> dict[str, Any] | None:
        """Return ``state``, ``platform`` and ``error`` of a hand-off; None if unknown."""
        return self.read(lambda conn: handoff_table.state(conn, session_id))

    def list_pending_handoffs(self) -> list[SessionRow]:
        """Return the sessions with a pending hand-off to a chat, the oldest first."""
        return self.read(handoff_table.pending)

    def get_compression_lock_holder(self, session_id: str) -> str | None:
        """Return the holder of a session's compression lock, None if it is not held."""
        now = self._clock.time()
        return self.read(lambda conn: compression_locks.holder_of(conn, session_id, now))

    def compression_lock(self, session_id: str) -> CompressionLock | None:
        """Return a session's compression lock, None if it is not held."""
        now = self._clock.time()
        return self.read(lambda conn: compression_locks.held(conn, session_id, now))

    def get_compression_failure_cooldown(self, session_id: str) -> dict[str, Any] | None:
        """Return ``cooldown_until``, ``remaining_seconds`` and ``error``; None if not set."""
        now = self._clock.time()
        return self.read(lambda conn: compression_locks.cooldown(conn, session_id, now))

    def get_compression_fallback_streak(self, session_id: str) -> int:
        """Return how often in a row compression used its fallback."""
        name = "compression_fallback_streak"
        return int(self.read(lambda conn: sessions_table.column(conn, session_id, name)) or 0)


class GatewayFace(WritingFace, GatewayReads):
    """The part of ``SessionDB`` that writes chats, routes, hand-offs and locks."""

    def record_gateway_session_peer(
        self,
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
        self._execute_write(lambda conn: peers.record(conn, session_id, values))

    def set_expiry_finalized(
        self,
        session_id: str,
        finalized: bool = True,  # noqa: FBT001, FBT002 - positional in programs that use this class
    ) -> None:
        """Record that the end of an expired chat session was handled."""
        self._execute_write(
            lambda conn: sessions_table.set_column(
                conn, session_id, "expiry_finalized", int(finalized)
            )
        )

    def save_routing_changes(
        self, *, scope: str, changed: Mapping[str, Entry], removed: Collection[str] = ()
    ) -> int:
        """Save the changes of a routing index in one transaction. Returns how many rows changed.

        Args:
            scope: Resolved path of the sessions folder.
            changed: Entries to store, by key.
            removed: Keys that the caller knew and removed; unknown ones of other writers stay.
        """
        now = self._clock.time()
        return self._execute_write(
            lambda conn: routing_table.save_changes(conn, scope, changed, removed, now)
        )

    def save_gateway_routing_entry(
        self, session_key: str, entry_json: Entry, *, scope: str = ""
    ) -> None:
        """Store one routing entry."""
        self.save_routing_changes(scope=scope, changed={session_key: entry_json})

    def replace_gateway_routing_entries(
        self,
        entries: Mapping[str, Entry],
        *,
        scope: str = "",
        known: Collection[str] | None = None,
    ) -> None:
        """Replace the entries of a scope.

        Args:
            entries: All entries of the caller, by key.
            scope: Resolved path of the sessions folder.
            known: Keys the caller has read or written before: only of these the missing ones are
                deleted. None: every key whose entry can be read. Unreadable entries stay.
        """
        now = self._clock.time()

        def replace(conn: sqlite3.Connection) -> None:
            before = routing_table.readable_keys(conn, scope) if known is None else set(known)
            removed = before.difference(entries)
            routing_table.save_changes(conn, scope, entries, removed, now)

        self._execute_write(replace)

    def delete_gateway_routing_entries(
        self, session_keys: Collection[str], *, scope: str = ""
    ) -> None:
        """Delete routing entries by key."""
        self.save_routing_changes(scope=scope, changed={}, removed=session_keys)

    def request_handoff(self, session_id: str, platform: str) -> bool:
        """Request a hand-off of a session to a chat. False: unknown, or already in progress."""
        return self._execute_write(lambda conn: handoff_table.request(conn, session_id, platform))

    def claim_handoff(self, session_id: str) -> bool:
        """Claim a hand-off; True for exactly one of several callers."""
        return self._execute_write(lambda conn: handoff_table.claim(conn, session_id))

    def complete_handoff(self, session_id: str) -> None:
        """Mark a hand-off as completed."""
        self._execute_write(lambda conn: handoff_table.finish(conn, session_id, None))

    def fail_handoff(self, session_id: str, error: str) -> None:
        """Mark a hand-off as failed, with the error."""
        self._execute_write(lambda conn: handoff_table.finish(conn, session_id, str(error)))

    def try_acquire_compression_lock(
        self, session_id: str, holder: str, ttl_seconds: float = LIFETIME_S
    ) -> bool:
        """Acquire a session's compression lock. False: it is held elsewhere, or the store fails."""
        now = self._clock.time()
        return self._or_false(
            lambda conn: compression_locks.acquire(conn, session_id, holder, now, ttl_seconds)
        )

    def refresh_compression_lock(
        self, session_id: str, holder: str, ttl_seconds: float = LIFETIME_S
    ) -> bool:
        """Extend a compression lock. False: it is lost."""
        now = self._clock.time()
        return self._or_false(
            lambda conn: compression_locks.refresh(conn, session_id, holder, now, ttl_seconds)
        )

    def release_compression_lock(self, session_id: str, holder: str) -> None:
        """Release a compression lock; it also expires automatically."""

        def release(conn: sqlite3.Connection) -> bool:
            compression_locks.release(conn, session_id, holder)
            return True

        self._or_false(release)

    def _or_false(self, fn: Callable[[sqlite3.Connection], bool]) -> bool:
        try:
            return self._execute_write(fn)
        except (HermesError, sqlite3.Error):
            return False

    def record_compression_failure_cooldown(
        self, session_id: str, cooldown_until: float, error: str | None = None
    ) -> None:
        """Record that compression failed and must not be retried before a time (epoch seconds)."""
        self._execute_write(
            lambda conn: compression_locks.set_cooldown(conn, session_id, cooldown_until, error)
        )

    def clear_compression_failure_cooldown(self, session_id: str) -> None:
        """Clear the compression cooldown."""
        self._execute_write(
            lambda conn: compression_locks.set_cooldown(conn, session_id, None, None)
        )

    def set_compression_fallback_streak(self, session_id: str, streak: int) -> None:
        """Store how often in a row compression used its fallback, at least 0."""
        name = "compression_fallback_streak"
        value = max(0, int(streak))
        self._execute_write(lambda conn: sessions_table.set_column(conn, session_id, name, value))
