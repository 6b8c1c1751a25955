"""Session boundaries of a chat: resets by command, by policy, and when a session is too long."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import SessionReset
from hermes_desktop.gateway.access import refusals
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.control import RESET_REQUESTED
from hermes_desktop.gateway.runner.core_parts import CoreParts
from hermes_desktop.gateway.session import SessionEntry, SessionSource
from hermes_desktop.gateway.sessions.session_notes import ResetNote, resume_hint
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.turn_outcome import EphemeralReply

log = logging.getLogger(__name__)

NOTHING_TO_RESET = "Session reset: this chat has no session yet."

EXHAUSTED = (
    "This session is too long and cannot be compressed any further. Your next message starts "
    "a new one."
)

CONTINUED = "This chat continues the previous session. Your next message is answered there."


class Boundaries:
    """Ends sessions of chats and begins the next: hooks, cleanup and notices. On the loop.

    Args:
        session_info: Returns additional information about a new session; "" for none.
    """

    def __init__(
        self,
        core: CoreParts,
        *,
        session_info: Callable[[], str],
    ) -> None:
        self._state = core.state
        self._chats = core.chats
        self._agents = core.agents
        self._control = core.control
        self._hook_calls = core.hook_calls
        self._replies = core.replies
        self._session_info = session_info

    async def cross(
        self,
        session_key: str,
        source: SessionSource | None,
        old_id: str | None,
        new_id: str,
        reason: str,
    ) -> None:
        """Process the change from one session of a chat to another: hooks and cleanup, in order."""
        platform = source.platform.value if source is not None else ""
        if old_id is not None:
            await self._hook_calls.finalize(old_id, platform, reason)
        await self._hook_calls.emit("session:end", source, session_key=session_key)
        await self._agents.retire(session_key)
        self._chats.peek(session_key).clear_session_choices()
        await self._hook_calls.reset(new_id, platform, reason)

    # /new

    async def reset(self, event: MessageEvent) -> EphemeralReply:
        """Handle ``/new``: end what runs and start a new session. Replies whatever hooks do."""
        source = event.source
        if source is None:
            return EphemeralReply(NOTHING_TO_RESET)
        session_key = self._state.session_key(source)
        platform = source.platform.value
        old = self._state.session_store._entries.get(session_key)  # noqa: SLF001 - only read
        old_id = old.session_id if old is not None else None
        await self._control.stop_turn(session_key, reason=RESET_REQUESTED)
        await self._agents.retire(session_key)
        self._chats.peek(session_key).clear_session_choices()
        fresh = await self._state.aside(self._state.session_store.reset_session, session_key)
        if old_id is not None:
            await self._hook_calls.finalize(old_id, platform, "new_session")
        await self._hook_calls.emit("session:end", source, session_key=session_key)
        await self._hook_calls.emit("session:reset", source, session_key=session_key)
        if fresh is None:
            make = partial(self._state.session_store.get_or_create_session, source, force_new=True)
            fresh = await self._state.aside(make)
        problem = await self._title(fresh.session_id, _title_of(event.text))
        await self._hook_calls.reset(fresh.session_id, platform, "new_session")
        return EphemeralReply(_reset_reply(old_id, self._session_info(), problem))

    async def _title(self, session_id: str, title: str) -> str:
        """Name a session; return why that failed, "" when it succeeded."""
        if not title or self._state.session_db is None:
            return ""
        try:
            await self._state.session_db.set_session_title(session_id, title)
        except HermesError as error:
            return str(error)
        except ValueError as error:
            return str(error)
        return ""

    # Automatic

    async def cross_automatically(
        self,
        record: TurnRecord,
        adapter: PlatformAdapter,
        source: SessionSource,
        session_entry: SessionEntry,
    ) -> None:
        """Run the hooks and notify the chat, once, before the first turn of a new session."""
        session_key = session_entry.session_key
        began = session_entry.created_at == session_entry.updated_at
        finalized = session_entry.previous_finalized
        note = None
        if session_entry.was_auto_reset:
            note = await self._state.aside(self._state.session_store.take_reset_note, session_key)
        elif session_entry.is_fresh_reset:
            await self._state.aside(self._state.session_store.take_fresh_reset, session_key)
            began = True
        if note is not None:
            old_id = None if finalized else note.previous_session_id
            await self.cross(session_key, source, old_id, session_entry.session_id, note.reason)
            record.note = note.for_model
            await self._tell_of_reset(adapter, source, session_entry, note)
        if began or note is not None:
            await self._hook_calls.emit(
                "session:start",
                source,
                session_id=session_entry.session_id,
                session_key=session_key,
            )

    async def _tell_of_reset(
        self,
        adapter: PlatformAdapter,
        source: SessionSource,
        session_entry: SessionEntry,
        note: ResetNote,
    ) -> None:
        self._state.bus.publish(
            SessionReset(
                session_key=session_entry.session_key,
                platform=source.platform.value,
                chat_name=source.chat_name or source.user_name or source.chat_id,
                old_session_id=note.previous_session_id or "",
                new_session_id=session_entry.session_id,
                reason=note.reason,
                text=note.for_person or note.explanation,
            )
        )
        if note.for_person is not None:
            await self._replies.say(adapter, source, note.for_person)

    async def after_exhaustion(
        self,
        record: TurnRecord,
        adapter: PlatformAdapter,
        session_entry: SessionEntry,
        result: Any,
    ) -> str:
        """Start a new session after a turn whose session cannot be compacted any further.

        Returns:
            An addition to its reply; "" when nothing of that kind happened.
        """
        exhausted = result.get("compression_exhausted") and self._control.is_current(record)
        if not exhausted or adapter.platform is Platform.DESKTOP:
            return ""
        session_key, old_id = session_entry.session_key, session_entry.session_id
        fresh = await self._state.aside(self._state.session_store.reset_session, session_key)
        if fresh is None:
            return ""
        await self._state.aside(self._state.session_store.take_fresh_reset, session_key)
        reason = "compression_exhausted"
        await self.cross(session_key, session_entry.origin, old_id, fresh.session_id, reason)
        return f"{EXHAUSTED}\n{resume_hint(old_id)}"

    # By the user, outside the chat

    async def continue_in(self, session_key: str, session_id: str) -> None:
        """Switch a chat to an earlier session and notify it.

        Raises:
            BusyError: A reply is being written in the chat, or in that session.
            NotFoundError: The chat is not known any more, or the session is gone.
            RefusedError: The runner is stopping.
        """
        if self._state.draining:
            raise refusals.closing()
        async with self._state.entrance.hold(session_key):
            if self._chats.is_busy(session_key) or self._state.turn_leases.is_held(session_id):
                raise refusals.reply_being_written()
            entry = await self._state.aside(self._switch_chat, session_key, session_id)
            if entry is None:
                raise refusals.nothing_to_continue()
            self._chats.peek(session_key).clear_session_choices()
            self._agents.evict(session_key)
        source = entry.origin
        adapter = self._state.adapters.get(source.platform) if source is not None else None
        if source is not None and adapter is not None:
            await self._replies.say(adapter, source, CONTINUED)

    def _switch_chat(self, session_key: str, session_id: str) -> SessionEntry | None:
        """Switch a chat to a session. Blocks. None when there is no such chat or session."""
        state = self._state
        if state.session_db is None or state.database().get_session(session_id) is None:
            return None
        entry = state.session_store.switch_session(session_key, session_id)
        if entry is not None:
            state.session_store.set_model_override(session_key, None)
        return entry

    # By time

    async def expire(self, session_entry: SessionEntry) -> None:
        """Process the expiry of a session; the next message explains it.

        Raises:
            HermesError: It could not be recorded; to be retried.
        """
        parts = session_entry.session_key.split(":")
        platform = session_entry.platform.value if session_entry.platform else (parts + [""] * 3)[2]
        session_key = session_entry.session_key
        await self._hook_calls.finalize(session_entry.session_id, platform, "session_expired")
        await self._hook_calls.emit("session:end", session_entry.origin, session_key=session_key)
        await self._agents.retire(session_key)
        self._chats.peek(session_key).clear_session_choices()
        await self._state.aside(self._state.session_store.set_expiry_finalized, session_entry)

    async def closed(self, platform: Platform, session_id: str) -> None:
        """Run the hooks for a session that was opened here and closed; it may be opened again."""
        if session_id in self._state.finalized:
            return
        await self._hook_calls.finalize(session_id, platform.value, "close")
        source = SessionSource(platform, session_id)
        session_key = self._state.session_key(source)
        await self._hook_calls.emit("session:end", source, session_key=session_key)


def _title_of(text: str) -> str:
    """Return the text after ``/new``."""
    _, _, rest = text.strip().partition(" ")
    return rest.strip()


def _reset_reply(previous: str | None, info: str, problem: str = "") -> str:
    """Return the reply to ``/new``.

    Args:
        previous: The session that was left, None for none.
        info: Further information about the new session.
        problem: Why it did not get the requested name.
    """
    lines = [
        "Session reset. Your next message starts a new session.",
        resume_hint(previous) if previous is not None else "",
        f"The title was not set: {problem}" if problem else "",
        info,
    ]
    return "\n".join(line for line in lines if line)
