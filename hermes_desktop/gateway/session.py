"""Which conversation each chat is in: entries by key, kept in memory and, where asked, on disk."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.gateway import session_index
from hermes_desktop.gateway.config import GatewayConfig, Platform
from hermes_desktop.gateway.session_expiry import is_prunable, reset_reason
from hermes_desktop.gateway.session_records import (
    SessionEntry,
    SessionSource,
    build_session_key,
)

if TYPE_CHECKING:
    from hermes_desktop.state import SessionDB

__all__ = ["SessionEntry", "SessionSource", "SessionStore", "build_session_key"]

log = logging.getLogger(__name__)


class SessionStore:
    """The entries of all chats. Methods may block and are called off the loop, from any thread.

    Args:
        sessions_dir: Folder of ``sessions.json``; not touched before something is saved.
        config: Reset policies and how keys are built.
        has_active_processes_fn: Tells for a session *key* whether background work runs there.
        db: The conversations themselves; None decides from the entries alone.
        persist: False keeps entries in memory: nothing is read from or written to the folder.
        namespace: Second part of the keys, ``main`` or the profile's name.
    """

    def __init__(  # noqa: PLR0913 - the first three and their order are given
        self,
        sessions_dir: Path,
        config: GatewayConfig,
        has_active_processes_fn: Callable[[str], bool] | None = None,
        *,
        db: "SessionDB | None" = None,
        clock: Clock | None = None,
        persist: bool = True,
        namespace: str = "main",
    ) -> None:
        self.sessions_dir = sessions_dir
        self.config = config
        self._has_active_processes_fn = has_active_processes_fn
        self._db = db
        self._clock: Clock = clock or SystemClock()
        self._persist = persist
        self._namespace = namespace
        self._entries: dict[str, SessionEntry] = {}
        self._loaded = False
        self._lock = threading.Lock()
        self._save_lock = threading.Lock()
        self._on_disk: dict[str, str] = {}

    def get_or_create_session(self, source: SessionSource) -> SessionEntry:
        """Find the conversation of a chat, or begin one.

        An entry follows its conversation to the tip of a compression chain. It is replaced by a
        fresh one when the reset policy says so or when somebody ended the conversation. The row
        in state.db is made by whoever stores the first message.

        Raises:
            HermesError: state.db cannot be asked.
        """
        self._ensure_loaded()
        key = self._generate_session_key(source)
        entry = self._entries.get(key)
        start = None if entry is None else entry.session_id
        tip, ended = (None, False) if entry is None else self._look_up(entry)
        with self._lock:
            entry = self._entries.get(key)
            reason = None if entry is None else self._reset_reason(entry)
            if entry is not None and not ended and reason is None:
                if tip is not None and entry.session_id == start:
                    entry.session_id = tip
                entry.updated_at = self._clock.now()
                self._save()
                return entry
            fresh = self._new_entry(key, source, replaced=entry, reason=reason)
            self._entries[key] = fresh
            self._save()
        if entry is not None and reason is not None and self._db is not None:
            self._db.promote_to_session_reset(entry.session_id, reason)
        return fresh

    def bind(
        self, session_key: str, session_id: str, *, source: SessionSource | None = None
    ) -> SessionEntry:
        """Point a chat at a conversation. Ends, reopens and creates nothing.

        Args:
            session_key: The chat.
            session_id: The conversation it is in from now on.
            source: Where its messages come from; kept when the entry is new.
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
        """Drop a chat's entry; its conversation stays as it is."""
        with self._lock:
            if self._entries.pop(session_key, None) is not None:
                self._save()

    def peek_session_id(self, session_key: str) -> str | None:
        """The conversation a chat is in, without changing anything; does not block."""
        entry = self._entries.get(session_key)
        return entry.session_id if entry is not None else None

    def prune_old_entries(self, max_age_days: int | None) -> int:
        """Drop entries of chats that have been silent for long; conversations stay.

        Suspended chats, chats with background work and the desktop chat are kept.

        Args:
            max_age_days: 0, less or None keep everything.

        Returns:
            How many entries were dropped.
        """
        if max_age_days is None or max_age_days <= 0:
            return 0
        now = self._clock.now()
        with self._lock:
            stale = [
                key
                for key, entry in self._entries.items()
                if is_prunable(entry.updated_at, now, max_age_days) and not self._is_kept(entry)
            ]
            for key in stale:
                del self._entries[key]
            if stale:
                self._save()
        return len(stale)

    def _is_kept(self, entry: SessionEntry) -> bool:
        return (
            entry.suspended
            or entry.platform is Platform.DESKTOP
            or self._has_active_processes(entry.session_key)
        )

    def _has_active_processes(self, session_key: str) -> bool:
        if self._has_active_processes_fn is None:
            return False
        try:
            return bool(self._has_active_processes_fn(session_key))
        except Exception:  # unknown counts as active: nothing is dropped by mistake
            log.exception("Cannot tell whether %s has background work", session_key)
            return True

    def _is_session_expired(self, entry: SessionEntry) -> bool:
        """Whether the reset policy ends this chat's conversation."""
        return self._reset_reason(entry) is not None

    def _reset_reason(self, entry: SessionEntry) -> str | None:
        policy = self.config.get_reset_policy(entry.platform, entry.chat_type)
        reason = reset_reason(policy, entry.updated_at, self._clock.now())
        if reason is None or self._has_active_processes(entry.session_key):
            return None
        return reason

    def _generate_session_key(self, source: SessionSource) -> str:
        return build_session_key(
            source,
            self.config.group_sessions_per_user,
            self.config.thread_sessions_per_user,
            self._namespace,
        )

    def _look_up(self, entry: SessionEntry) -> tuple[str, bool]:
        """The tip of the entry's conversation, and whether that was ended by somebody."""
        if self._db is None:
            return entry.session_id, False
        tip = self._db.get_compression_tip(entry.session_id) or entry.session_id
        row = self._db.get_session(tip)
        if row is None or entry.platform is Platform.DESKTOP:
            return tip, False  # the desktop chat reopens what it resumes
        return tip, row.get("end_reason") is not None

    def _new_entry(
        self,
        key: str,
        source: SessionSource,
        *,
        replaced: SessionEntry | None,
        reason: str | None,
    ) -> SessionEntry:
        now = self._clock.now()
        return SessionEntry(
            session_key=key,
            session_id=new_session_id(now, hex_digits=8),
            created_at=now,
            updated_at=now,
            origin=source,
            display_name=source.chat_name,
            platform=source.platform,
            chat_type=source.chat_type,
            was_auto_reset=reason is not None,
            auto_reset_reason=reason,
            reset_had_activity=replaced is not None and replaced.last_prompt_tokens > 0,
        )

    def _ensure_loaded(self) -> None:
        with self._lock:
            if self._loaded:
                return
            self._loaded = True
            if self._persist:
                self._load()

    def _load(self) -> None:
        """Read the index; a row that cannot be understood stays in the file and hurts no other."""
        try:
            members = session_index.read_members(session_index.index_path(self.sessions_dir))
        except (OSError, session_index.UnreadableIndexError) as error:
            log.warning("sessions.json cannot be read and is left as it is: %s", error)
            return
        for key, row in session_index.decode_entries(members).items():
            try:
                entry = SessionEntry.from_dict(row)
            except (KeyError, TypeError, ValueError) as error:
                log.warning("The entry %r of sessions.json cannot be used: %r", key, error)
                continue
            self._entries.setdefault(key, entry)
            self._on_disk[key] = session_index.render_entry(entry.to_dict())

    def _save(self) -> None:
        """Bring the index on the disk up to date. Takes no ``_lock``: callers may hold it."""
        if not self._persist:
            return
        with self._save_lock:
            rows = {
                key: session_index.render_entry(entry.to_dict())
                for key, entry in dict(self._entries).items()
            }
            changed = {key: row for key, row in rows.items() if self._on_disk.get(key) != row}
            removed = self._on_disk.keys() - rows.keys()
            try:
                session_index.write_changes(
                    session_index.index_path(self.sessions_dir), changed, removed
                )
            except (OSError, session_index.UnreadableIndexError) as error:
                log.error("sessions.json cannot be written: %s", error)  # noqa: TRY400 - expected
                return
            self._on_disk = rows
