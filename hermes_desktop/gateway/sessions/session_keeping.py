"""In-memory entries of all chats: loaded once, saved by difference, dropped when stale."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.sessions import session_rows
from hermes_desktop.gateway.sessions.session_expiry import policy_reason, stale_keys, start_reason
from hermes_desktop.gateway.sessions.session_records import (
    SessionEntry,
    SessionSource,
    build_session_key,
)
from hermes_desktop.gateway.sessions.session_routing import RoutingFiles

if TYPE_CHECKING:
    from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)


class EntryStore:
    """The entries by session key, and whether each may continue. See :class:`SessionStore`."""

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
        self._files = RoutingFiles(sessions_dir)

    # On the disk

    def _ensure_loaded(self) -> None:
        """Load the entries if that was not done yet.

        Raises:
            BusyError: Another program keeps state.db locked; the next call tries again.
        """
        with self._lock:
            self._ensure_loaded_locked()

    def _ensure_loaded_locked(self) -> None:
        if self._loaded:
            return
        changed = False
        if self._persist:
            self._entries = {**self._files.load(self._db), **self._entries}
            changed = self._drop_stale_entries()
        self._loaded = True
        if changed:
            self._save()

    def _drop_stale_entries(self) -> bool:
        """Move entries away from ended sessions, or drop them; return whether any changed."""
        if self._db is None:
            return False
        changed = False
        for key, entry in list(self._entries.items()):
            # The next message is to explain the reset.
            if entry.is_foreign or entry.expiry_finalized:
                continue
            try:
                target = session_rows.follow_or_recover(self._db, key, entry)
            except HermesError as error:
                log.warning("Whether the conversation of %s continues is unknown: %s", key, error)
                continue
            if target == entry.session_id:
                continue
            changed = True
            if target is None:
                del self._entries[key]
            else:
                entry.session_id = target
        return changed

    def _save(self) -> None:
        """Save the entries. Takes no ``_lock``: callers may hold it.

        The snapshot is taken when it is this call's turn, so that saves are written in the order of
        their snapshots, and a call whose changes were already saved by another writes nothing.
        """
        self._write(mirror=self.config.write_sessions_json)

    def _save_in_passing(self) -> None:
        """Save the table now, the mirror with the next :meth:`_save`.

        For what is true only while a turn runs: the mirror is always written as a whole.
        """
        self._write(mirror=False)

    def _write(self, *, mirror: bool) -> None:
        if not self._persist:
            return
        with self._save_lock:
            entries = {
                key: entry
                for key, entry in dict(self._entries).items()
                if entry.platform is not Platform.DESKTOP  # these are kept in memory only
            }
            self._files.save(entries, self._db, mirror=mirror)

    # Expiry and pruning

    def prune_old_entries(self, max_age_days: int | None) -> int:
        """Drop entries of chats that have been inactive for long; their sessions stay.

        Suspended chats, chats with background work and the desktop chat are kept.

        Args:
            max_age_days: 0, less or None keep everything.

        Returns:
            The number of dropped entries.
        """
        now = self._clock.now()
        with self._lock:
            stale = stale_keys(self._entries, now, max_age_days, self._has_active_processes)
            for key in stale:
                del self._entries[key]
        if stale:
            self._save()
        return len(stale)

    def _has_active_processes(self, session_key: str) -> bool:
        if self._has_active_processes_fn is None:
            return False
        try:
            return bool(self._has_active_processes_fn(session_key))
        except Exception:  # unknown counts as active: nothing is dropped by mistake
            log.exception("Cannot tell whether %s has background work", session_key)
            return True

    def _is_session_expired(self, entry: SessionEntry) -> bool:
        """Return whether the reset policy ends this chat's session."""
        return self._policy_reason(entry) is not None

    def _policy_reason(self, entry: SessionEntry) -> str | None:
        return policy_reason(entry, self.config, self._clock.now(), self._has_active_processes)

    def _start_reason(self, entry: SessionEntry) -> str | None:
        policy = self.config.get_reset_policy(entry.platform, entry.chat_type)
        fresh_s = self.config.running.resume_fresh_s
        return start_reason(entry, self._policy_reason(entry), policy, self._clock.now(), fresh_s)

    def _generate_session_key(self, source: SessionSource) -> str:
        # Keys of a platform name a profile only where profiles share a gateway.
        profile: str | None = None
        if source.platform is Platform.DESKTOP:
            profile = self._namespace
        elif self.config.multiplex_profiles:
            profile = source.profile or self._namespace
        return build_session_key(
            source,
            self.config.group_sessions_per_user,
            self.config.thread_sessions_per_user,
            profile,
        )

    def _owns_rows(self, platform: Platform | None) -> bool:
        """Return whether this gateway creates and ends the session rows of a platform's chats."""
        return self._persist and self._db is not None and platform is not Platform.DESKTOP
