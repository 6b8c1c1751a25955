"""Marks on a chat's entry: used, suspended, to be resumed, model override, expiry processed."""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.sessions.session_keeping import EntryStore
from hermes_desktop.gateway.sessions.session_notes import ResetNote, take_reset_note
from hermes_desktop.gateway.sessions.session_records import SessionEntry, without_credentials
from hermes_desktop.gateway.sessions.session_rows import attempt

log = logging.getLogger(__name__)


class EntryMarks(EntryStore):
    """The part of the session store that marks entries. Methods block; any thread."""

    def _change(
        self,
        session_key: str,
        change: Callable[[SessionEntry], bool],
        *,
        in_passing: bool = False,
    ) -> bool:
        """Change a chat's entry and save; return False when there is none or nothing changed."""
        self._ensure_loaded()
        with self._lock:
            entry = self._entries.get(session_key)
            if entry is None or not change(entry):
                return False
        if in_passing:
            self._save_in_passing()
        else:
            self._save()
        return True

    def update_session(self, session_key: str, last_prompt_tokens: int | None = None) -> None:
        """Record that a chat was used just now.

        Args:
            session_key: The chat; an unknown one is ignored.
            last_prompt_tokens: The length of the latest request; None leaves the stored value as it
                is.
        """

        def used(entry: SessionEntry) -> bool:
            entry.updated_at = self._clock.now()
            if last_prompt_tokens is not None:
                entry.last_prompt_tokens = last_prompt_tokens
            return True

        self._change(session_key, used)

    def suspend_session(self, session_key: str) -> bool:
        """Have a chat's next message start a new session. False for an unknown chat."""

        def suspend(entry: SessionEntry) -> bool:
            entry.suspended = True
            return True

        return self._change(session_key, suspend)

    def mark_resume_pending(self, session_key: str, reason: str = "restart_timeout") -> bool:
        """Mark an interrupted reply to be resumed. False if unknown or suspended."""
        return self._change(
            session_key, lambda entry: self._mark_pending(entry, reason), in_passing=True
        )

    def clear_resume_pending(self, session_key: str) -> bool:
        """Clear the mark of an interrupted reply. False when nothing was pending."""

        def clear(entry: SessionEntry) -> bool:
            if not entry.resume_pending:
                return False
            entry.resume_pending = False
            entry.resume_reason = entry.last_resume_marked_at = None
            return True

        return self._change(session_key, clear)

    def settle_turn(self, session_key: str, last_prompt_tokens: int | None = None) -> None:
        """Record that a chat was used just now and that its reply needs no resuming."""

        def settle(entry: SessionEntry) -> bool:
            entry.updated_at = self._clock.now()
            entry.resume_pending = False
            entry.resume_reason = entry.last_resume_marked_at = None
            if last_prompt_tokens is not None:
                entry.last_prompt_tokens = last_prompt_tokens
            return True

        self._change(session_key, settle)

    def pending_chats(self) -> list[SessionEntry]:
        """Return the chats whose replies are to be resumed."""
        self._ensure_loaded()
        with self._lock:
            return [
                entry
                for entry in self._entries.values()
                if entry.resume_pending and not entry.suspended and not entry.is_foreign
            ]

    def suspend_recently_active(self, max_age_seconds: int = 120) -> int:
        """Mark the chats that were in use before a crash, so that they are resumed.

        Returns:
            The number of marked chats.
        """
        self._ensure_loaded()
        since = self._clock.now() - timedelta(seconds=max_age_seconds)
        with self._lock:
            marked = sum(
                self._mark_pending(entry, "restart_interrupted")
                for entry in self._entries.values()
                if entry.updated_at >= since
                and not entry.resume_pending
                and not entry.is_foreign
                and entry.platform is not Platform.DESKTOP
            )
        if marked:
            self._save()
        return marked

    def _mark_pending(self, entry: SessionEntry, reason: str) -> bool:
        if entry.suspended:
            return False
        entry.resume_pending = True
        entry.resume_reason = reason
        entry.last_resume_marked_at = self._clock.now()
        return True

    def take_reset_note(self, session_key: str) -> ResetNote | None:
        """Return and clear the note of an automatic reset; None when there was none."""
        notes: list[ResetNote] = []

        def take(entry: SessionEntry) -> bool:
            policy = self.config.get_reset_policy(entry.platform, entry.chat_type)
            note = take_reset_note(entry, policy)
            if note is not None:
                notes.append(note)
            return note is not None

        return notes[0] if self._change(session_key, take) else None

    def take_fresh_reset(self, session_key: str) -> bool:
        """Return whether the session was just reset by request, and clear that mark."""

        def take(entry: SessionEntry) -> bool:
            was_fresh, entry.is_fresh_reset = entry.is_fresh_reset, False
            return was_fresh

        return self._change(session_key, take)

    def set_model_override(self, session_key: str, override: Mapping[str, Any] | None) -> None:
        """Choose a model for one chat; None resets the choice. Secrets in it are dropped."""

        def choose(entry: SessionEntry) -> bool:
            entry.model_override = without_credentials(override)
            return True

        self._change(session_key, choose)

    def get_model_override(self, session_key: str) -> dict[str, str] | None:
        """Return the ``model``, ``provider`` and ``base_url`` chosen for a chat, where set."""
        self._ensure_loaded()
        entry = self._entries.get(session_key)
        return dict(entry.model_override) if entry and entry.model_override else None

    def set_expiry_finalized(
        self, entry: SessionEntry, *, clear_model_override: bool = True
    ) -> None:
        """Record that the end of an expired session was processed, here and in state.db.

        Args:
            entry: The chat.
            clear_model_override: Forget the model that was chosen for the old session.
        """
        with self._lock:
            entry.expiry_finalized = True
            if clear_model_override:
                entry.model_override = None
        self._save()
        db = self._db
        if db is None or not self._owns_rows(entry.platform):
            return
        session_id = entry.session_id
        attempt("Marking an expired session", lambda: db.set_expiry_finalized(session_id))
        attempt("Ending an expired session", lambda: db.promote_to_session_reset(session_id))
