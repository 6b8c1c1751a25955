"""The session store: finds, creates, switches and resets the session of each chat."""

import functools
import logging
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from hermes_desktop.core.ids import new_session_id
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.sessions import session_rows
from hermes_desktop.gateway.sessions.session_expiry import reset_reason
from hermes_desktop.gateway.sessions.session_marks import EntryMarks
from hermes_desktop.gateway.sessions.session_records import (
    SessionEntry,
    SessionSource,
    build_session_key,
    is_shared_session,
)

log = logging.getLogger(__name__)

T = TypeVar("T")


__all__ = [
    "SessionEntry",
    "SessionSource",
    "SessionStore",
    "build_session_key",
    "is_shared_session",
]


class SingleFlight(Generic[T]):
    """Merges concurrent calls of the same name. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, Future[T]] = {}

    def run(self, name: Hashable, call: Callable[[], T]) -> T:
        """Execute the call, or wait for a running call of the same name and share its result."""
        with self._lock:
            under_way = self._flights.get(name)
            flight = self._flights.setdefault(name, Future())
        if under_way is not None:
            return under_way.result()
        try:
            result = call()
        except BaseException as error:
            flight.set_exception(error)
            raise
        else:
            flight.set_result(result)
            return result
        finally:
            with self._lock:
                del self._flights[name]


@dataclass(frozen=True, slots=True)
class _Decision:
    """The decision about a chat's entry.

    Attributes:
        goes_on_in: The session in which the current entry continues; None: it is replaced.
        recovered: A session from state.db to continue.
        began_at: When that session started.
        written_at: The time of its last message.
        left_behind: The session that is left, for the reason in ``reason``.
        had_activity: Whether it contains any messages.
    """

    goes_on_in: str | None = None
    recovered: str | None = None
    began_at: datetime | None = None
    written_at: datetime | None = None
    left_behind: str | None = None
    reason: str | None = None
    had_activity: bool = False


class SessionStore(EntryMarks):
    """The entries of all chats. Methods may block and are called off the loop, from any thread.

    Args:
        sessions_dir: Folder of ``sessions.json``; not touched before something is saved.
        config: Reset policies and how keys are built.
        has_active_processes_fn: Returns for a session *key* whether background work runs there.
        db: The database of sessions; None decides from the entries alone.
        clock: The time source.
        persist: Whether this is the gateway of the home. False keeps entries in memory: nothing is
            read from or written to the folder, and no session row is created or ended.
        namespace: ``main`` or the profile's name: second part of the keys of the desktop chat, and
            of all keys where profiles share a gateway.
    """

    @functools.cached_property
    def _flights(self) -> SingleFlight[SessionEntry]:
        return SingleFlight()

    def get_or_create_session(
        self,
        source: SessionSource,
        force_new: bool = False,  # noqa: FBT001, FBT002 - positional in the contract
    ) -> SessionEntry:
        """Find or create the session of a chat. Concurrent callers for one chat share the result.

        An entry follows its session to the tip of a compaction chain. It is replaced by a new one
        when the chat was suspended, when its reset policy requires it, or when the session was
        ended; a chat without an entry continues its last session in state.db.

        Raises:
            HermesError: state.db is not available; nothing was changed.
        """
        self._ensure_loaded()
        key = self._generate_session_key(source)
        return self._flights.run(
            (key, force_new), lambda: self._get_or_create(key, source, force_new=force_new)
        )

    def _get_or_create(self, key: str, source: SessionSource, *, force_new: bool) -> SessionEntry:
        while True:
            entry = self._entries.get(key)
            before = entry and entry.session_id
            decision = self._decide(key, entry, source, force_new=force_new)
            with self._lock:
                present = self._entries.get(key)
                if present is not entry or (entry and entry.session_id) != before:
                    continue  # it has been moved
                if entry is not None and decision.goes_on_in is not None:
                    entry.session_id = decision.goes_on_in
                    entry.updated_at = self._clock.now()
                else:
                    entry = self._replacement(key, source, decision)
                    self._entries[key] = entry
            if decision.goes_on_in is not None and decision.goes_on_in == before:
                self._save_in_passing()  # only its time of use changed
                return entry
            self._save()
            if decision.goes_on_in is None:
                self._write_rows(entry, source, decision)
            return entry

    def _decide(
        self, key: str, entry: SessionEntry | None, source: SessionSource, *, force_new: bool
    ) -> _Decision:
        """Decide about a chat's entry. Reads state.db; changes nothing."""
        if entry is None:
            return _Decision() if force_new else self._recover(key, source)
        activity = entry.last_prompt_tokens > 0
        reason = self._start_reason(entry)
        if reason is None and force_new:
            reason = "session_reset"
        if reason is not None:
            return _Decision(left_behind=entry.session_id, reason=reason, had_activity=activity)
        if self._db is None:
            return _Decision(goes_on_in=entry.session_id)
        tip, row = session_rows.tip_of(self._db, entry.session_id)
        ended = row is not None and row["end_reason"] is not None
        if row is None or not ended or entry.platform is Platform.DESKTOP:
            return _Decision(goes_on_in=tip)  # the desktop chat reopens what it resumes
        return self._recover(key, source, ended=row)

    def _recover(
        self, key: str, source: SessionSource, *, ended: session_rows.Row | None = None
    ) -> _Decision:
        """Continue a chat's last session in state.db, unless its reset policy prevents it."""
        if self._db is None or source.platform is Platform.DESKTOP:
            return _Decision()
        row = (
            session_rows.find_recoverable(self._db, key, source)
            if ended is None
            else session_rows.newer_recoverable(self._db, key, source, ended)
        )
        if row is None:
            return _Decision()
        session_id, _ = session_rows.tip_of(self._db, row["id"])
        written_at = session_rows.last_message_time(self._db, row, self._clock)
        policy = self.config.get_reset_policy(source.platform, source.chat_type)
        reason = reset_reason(policy, written_at, self._clock.now())
        if reason is not None and not self._has_active_processes(key):
            return _Decision(left_behind=session_id, reason=reason, had_activity=True)
        began_at = session_rows.local_time(float(row["started_at"]), self._clock)
        return _Decision(recovered=session_id, began_at=began_at, written_at=written_at)

    def _replacement(self, key: str, source: SessionSource, decision: _Decision) -> SessionEntry:
        now = self._clock.now()
        automatic = decision.reason not in {None, "session_reset"}
        old = self._entries.get(key)
        left = old is not None and old.session_id == decision.left_behind
        return SessionEntry(
            session_key=key,
            session_id=decision.recovered or new_session_id(now, hex_digits=8),
            created_at=decision.began_at or now,
            updated_at=decision.written_at or now,
            origin=source,
            display_name=source.chat_name,
            platform=source.platform,
            chat_type=source.chat_type,
            was_auto_reset=automatic,
            auto_reset_reason=decision.reason if automatic else None,
            reset_had_activity=automatic and decision.had_activity,
            previous_session_id=decision.left_behind,
            previous_finalized=left and old is not None and old.expiry_finalized,
        )

    def _write_rows(self, entry: SessionEntry, source: SessionSource, decision: _Decision) -> None:
        """End the old session in state.db, and create or reopen the new one there."""
        db = self._db
        if db is None or not self._owns_rows(entry.platform):
            return
        old, reason = decision.left_behind, decision.reason
        if old is not None and reason is not None:
            session_rows.attempt(
                "Ending a session", lambda: db.promote_to_session_reset(old, reason)
            )
        if decision.recovered is None:
            self._begin_row(entry, source)
            return
        session_id = decision.recovered
        session_rows.attempt("Opening a session", lambda: db.reopen_session(session_id))
        session_rows.attempt(
            "Naming the chat of a session",
            lambda: session_rows.record_peer(
                db, session_id, entry.session_key, source, entry.display_name
            ),
        )

    def _begin_row(self, entry: SessionEntry, source: SessionSource | None) -> None:
        db = self._db
        if db is not None and source is not None and self._owns_rows(entry.platform):
            session_rows.attempt(
                "Beginning a session",
                lambda: session_rows.begin_row(db, entry, source, self._namespace),
            )

    # By request

    def reset_session(
        self, session_key: str, display_name: str | None = None
    ) -> SessionEntry | None:
        """Start a new session in a chat. None for a chat that has no entry.

        Args:
            session_key: The chat.
            display_name: Its new name; None keeps the old one.
        """
        self._ensure_loaded()
        now = self._clock.now()
        with self._lock:
            old = self._entries.get(session_key)
            if old is None:
                return None
            fresh = self._successor(old, new_session_id(now, hex_digits=8))
            fresh.is_fresh_reset = True
            fresh.display_name = display_name or old.display_name
            self._entries[session_key] = fresh
        self._save()
        self._end_row(old, "session_reset")
        self._begin_row(fresh, fresh.origin)
        return fresh

    def switch_session(self, session_key: str, target_session_id: str) -> SessionEntry | None:
        """Switch a chat to another session, to the tip of its chain. None for an unknown chat.

        The old session is ended, the other one reopened.

        Raises:
            HermesError: state.db is not available.
        """
        self._ensure_loaded()
        target = target_session_id
        if self._db is not None:
            target, _ = session_rows.tip_of(self._db, target)
        with self._lock:
            old = self._entries.get(session_key)
            if old is None or old.session_id == target:
                return old
            entry = self._entries[session_key] = self._successor(old, target)
        self._save()
        self._end_row(old, "session_switch")
        db = self._db
        if db is not None and self._owns_rows(entry.platform):
            session_rows.attempt("Opening a session", lambda: db.reopen_session(target))
            self._record_peer_of_own_row(entry)
        return entry

    def _successor(self, old: SessionEntry, session_id: str) -> SessionEntry:
        """Return a new entry of the same chat."""
        now = self._clock.now()
        return SessionEntry(
            session_key=old.session_key,
            session_id=session_id,
            created_at=now,
            updated_at=now,
            origin=old.origin,
            display_name=old.display_name,
            platform=old.platform,
            chat_type=old.chat_type,
            previous_session_id=old.session_id,
            unknown=old.unknown,
        )

    def _end_row(self, entry: SessionEntry, reason: str) -> None:
        db = self._db
        if db is None or not self._owns_rows(entry.platform):
            return
        session_id = entry.session_id
        if reason == "session_reset":
            session_rows.attempt(
                "Ending a session", lambda: db.promote_to_session_reset(session_id)
            )
        else:
            session_rows.attempt("Ending a session", lambda: db.end_session(session_id, reason))

    def _record_peer_of_own_row(self, entry: SessionEntry) -> None:
        """Store the chat of a session, unless it began elsewhere and so keeps its own."""
        db, origin, session_id = self._db, entry.origin, entry.session_id
        if db is None or origin is None:
            return

        def record() -> None:
            row = db.get_session(session_id)
            if row is not None and row["source"] == origin.platform.value:
                session_rows.record_peer(
                    db, session_id, entry.session_key, origin, entry.display_name
                )

        session_rows.attempt("Naming the chat of a session", record)

    def record_rotation(self, entry: SessionEntry) -> None:
        """Store the chat of the row in which its session continues after a rotation."""
        if self._owns_rows(entry.platform):
            self._record_peer_of_own_row(entry)

    def bind(
        self, session_key: str, session_id: str, *, source: SessionSource | None = None
    ) -> SessionEntry:
        """Assign a session to a chat. Ends, reopens and creates no session.

        Args:
            session_key: The chat.
            session_id: Its session from now on.
            source: The source of its messages; stored when the entry is new.
        """
        self._ensure_loaded()
        with self._lock:
            entry = self._entries.get(session_key)
            if entry is None:
                now = self._clock.now()
                entry = SessionEntry(
                    session_key=session_key,
                    session_id=session_id,
                    created_at=now,
                    updated_at=now,
                    origin=source,
                    platform=source.platform if source else None,
                    chat_type=source.chat_type if source else "dm",
                )
                self._entries[session_key] = entry
            entry.session_id = session_id
        self._save()
        return entry

    def forget(self, session_key: str) -> None:
        """Drop a chat's entry; its session stays as it is."""
        with self._lock:
            if self._entries.pop(session_key, None) is None:
                return
        self._save()

    # Queries

    def peek_session_id(self, session_key: str) -> str | None:
        """Return the current session of a chat without changing anything; does not block."""
        entry = self._entries.get(session_key)
        return entry.session_id if entry is not None else None

    def list_sessions(self, active_minutes: int | None = None) -> list[SessionEntry]:
        """Return the entries, the most recently used first.

        Args:
            active_minutes: Only those used within so many minutes; None for all.
        """
        self._ensure_loaded()
        with self._lock:
            entries = list(self._entries.values())
        if active_minutes is not None:
            now, most = self._clock.now(), active_minutes * 60
            entries = [e for e in entries if (now - e.updated_at).total_seconds() <= most]
        return sorted(entries, key=lambda entry: entry.updated_at, reverse=True)
