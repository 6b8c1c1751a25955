"""Session boundaries of a chat: resets by command, by policy and by necessity."""

import asyncio
import contextlib
import logging
from functools import cached_property, partial
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import SessionReset
from hermes_desktop.gateway.access import refusals
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner import reset_replies
from hermes_desktop.gateway.runner.boundaries import SessionHooks, collect, emit
from hermes_desktop.gateway.runner.runner_surface import RESET_REQUESTED, RunnerOperations
from hermes_desktop.gateway.session import SessionEntry, SessionSource
from hermes_desktop.gateway.sessions.session_notes import ResetNote, resume_hint
from hermes_desktop.gateway.turns.agent_cache import PENDING
from hermes_desktop.gateway.turns.agent_preparation import close_agents
from hermes_desktop.gateway.turns.ephemeral_reply import EphemeralReply
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)

CLEANUP_S = 30.0
NOTICE_S = 15.0


class RunnerBoundaries(RunnerOperations):
    """Session boundaries: hooks, cleanup of the old session, and messages to the chat."""

    @cached_property
    def boundaries(self) -> SessionHooks:
        """The notifier of plugins, from the first call until the runner has stopped."""
        return SessionHooks()

    def _open_threads(self) -> None:
        """Allow new worker threads after the runner had stopped."""
        self.__dict__.pop("boundaries", None)
        self.__dict__.pop("_side_workers", None)

    def _close_threads(self) -> None:
        """Close the worker threads; later notifications and look-ups fail."""
        self.boundaries.close()
        self._side_workers.close()

    async def _emit(self, event_type: str, source: SessionSource | None, **context: Any) -> None:
        """Notify the gateway's event hooks."""
        who = {
            "platform": source.platform.value if source is not None else "",
            "user_id": source.user_id if source is not None else None,
        }
        facts = who | context
        await emit(self.hooks, event_type, facts, calls=self._bounded, limit_s=self.event_hooks_s)

    async def _ask_hooks(self, event_type: str, context: dict[str, Any]) -> list[Any]:
        """Notify the gateway's event hooks; return their results."""
        limit_s = self.event_hooks_s
        return await collect(self.hooks, event_type, context, calls=self._bounded, limit_s=limit_s)

    # What a session leaves behind

    def _clear_conversation_scope(self, session_key: str) -> None:
        """Clear the choices and requests of a chat that apply to one session only."""
        for each in self._conversation_scope():
            each.pop(session_key, None)

    async def _retire_agent(self, session_key: str) -> None:
        """Close the cached agent of a chat for good, off the loop and with a time-out."""
        with self._cache_guard():
            cached = self._agent_cache.get(session_key)
        if cached is not None and cached[0] is not PENDING:
            await self._clean_up(cached[0])
        self._evict_cached_agent(session_key)

    async def _clean_up(self, agent: Any) -> None:
        call = partial(self._cleanup_agent_resources, agent)
        try:
            await self._side_workers.run_within(CLEANUP_S, call)
        except TimeoutError:
            log.warning("An agent did not close in time and is left behind")
        except RuntimeError:
            log.debug("An agent goes with the workers", exc_info=True)

    def _cleanup_agent_resources(self, agent: Any) -> None:
        """Close an agent for good. Blocks."""
        close_agents([(agent,)])

    async def _cross(
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
            await self.boundaries.finalize(old_id, platform, reason)
        await self._emit("session:end", source, session_key=session_key)
        await self._retire_agent(session_key)
        self._clear_conversation_scope(session_key)
        await self.boundaries.reset(new_id, platform, reason)

    # /new

    async def _handle_reset_command(self, event: MessageEvent) -> EphemeralReply:
        """Handle ``/new``: end what runs and start a new session. Replies whatever hooks do."""
        source = event.source
        if source is None:
            return EphemeralReply(reset_replies.NOWHERE)
        session_key = self.session_store._generate_session_key(source)  # noqa: SLF001 - see session
        platform = source.platform.value
        old = self.session_store._entries.get(session_key)  # noqa: SLF001 - without changing it
        old_id = old.session_id if old is not None else None
        await self.stop_turn(session_key, reason=RESET_REQUESTED)
        await self._retire_agent(session_key)
        self._clear_conversation_scope(session_key)
        fresh = await self._aside(self.session_store.reset_session, session_key)
        if old_id is not None:
            await self.boundaries.finalize(old_id, platform, "new_session")
        await self._emit("session:end", source, session_key=session_key)
        await self._emit("session:reset", source, session_key=session_key)
        if fresh is None:
            make = partial(self.session_store.get_or_create_session, source, force_new=True)
            fresh = await self._aside(make)
        problem = await self._title(fresh.session_id, reset_replies.title_of(event.text))
        await self.boundaries.reset(fresh.session_id, platform, "new_session")
        return EphemeralReply(
            reset_replies.begun_anew(old_id, self._format_session_info(), problem)
        )

    def _format_session_info(self) -> str:
        """Return additional information about a new session; "" for none."""
        return ""

    async def _title(self, session_id: str, title: str) -> str:
        """Name a session; return why that failed, "" when it succeeded."""
        if not title or self._session_db is None:
            return ""
        try:
            await self._session_db.set_session_title(session_id, title)
        except HermesError as error:
            return str(error)
        except ValueError as error:
            return str(error)
        return ""

    # Automatic

    async def _cross_automatic_boundary(
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
            note = await self._aside(self.session_store.take_reset_note, session_key)
        elif session_entry.is_fresh_reset:
            await self._aside(self.session_store.take_fresh_reset, session_key)
            began = True
        if note is not None:
            old_id = None if finalized else note.previous_session_id
            await self._cross(session_key, source, old_id, session_entry.session_id, note.reason)
            record.note = note.for_model
            await self._tell_of_reset(adapter, source, session_entry, note)
        if began or note is not None:
            await self._emit(
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
        self.bus.publish(
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
            await self._say(adapter, source, note.for_person)

    async def _after_exhaustion(
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
        exhausted = result.get("compression_exhausted") and self._is_current(record)
        if not exhausted or adapter.platform is Platform.DESKTOP:
            return ""
        session_key, old_id = session_entry.session_key, session_entry.session_id
        fresh = await self._aside(self.session_store.reset_session, session_key)
        if fresh is None:
            return ""
        await self._aside(self.session_store.take_fresh_reset, session_key)
        reason = "compression_exhausted"
        await self._cross(session_key, session_entry.origin, old_id, fresh.session_id, reason)
        return f"{reset_replies.EXHAUSTED}\n{resume_hint(old_id)}"

    # By the user, outside the chat

    async def continue_in(self, session_key: str, session_id: str) -> None:
        """Switch a chat to an earlier session and notify it.

        Raises:
            BusyError: A reply is being written in the chat, or in that session.
            NotFoundError: The chat is not known any more, or the session is gone.
            RefusedError: The runner is stopping.
        """
        if self._draining:
            raise refusals.closing()
        async with self._entrance.hold(session_key):
            if self.is_busy(session_key) or self._turn_leases.is_held(session_id):
                raise refusals.reply_being_written()
            entry = await self._aside(self._switch_chat, session_key, session_id)
            if entry is None:
                raise refusals.nothing_to_continue()
            self._clear_conversation_scope(session_key)
            self._evict_cached_agent(session_key)
        source = entry.origin
        adapter = self.adapters.get(source.platform) if source is not None else None
        if source is not None and adapter is not None:
            await self._say(adapter, source, reset_replies.CONTINUED)

    def _switch_chat(self, session_key: str, session_id: str) -> SessionEntry | None:
        """Switch a chat to a session. Blocks. None when there is no such chat or session."""
        db = self._session_db
        if db is None or db._db.get_session(session_id) is None:  # noqa: SLF001 - its blocking face
            return None
        entry = self.session_store.switch_session(session_key, session_id)
        if entry is not None:
            self.session_store.set_model_override(session_key, None)
        return entry

    # By time

    async def _expire(self, session_entry: SessionEntry) -> None:
        """Process the expiry of a session; the next message explains it.

        Raises:
            HermesError: It could not be recorded; to be retried.
        """
        parts = session_entry.session_key.split(":")
        platform = session_entry.platform.value if session_entry.platform else (parts + [""] * 3)[2]
        session_key = session_entry.session_key
        await self.boundaries.finalize(session_entry.session_id, platform, "session_expired")
        await self._emit("session:end", session_entry.origin, session_key=session_key)
        with self._cache_guard():
            cached = self._agent_cache.get(session_key)
        if cached is not None and cached[0] is not PENDING:
            await self._clean_up(cached[0])
        self._evict_cached_agent(session_key)
        self._clear_conversation_scope(session_key)
        await self._aside(self.session_store.set_expiry_finalized, session_entry)

    async def _closed(self, platform: Platform, session_id: str) -> None:
        """Run the hooks for a session that was opened here and closed; it may be opened again."""
        if session_id in self._told_of:
            return
        await self.boundaries.finalize(session_id, platform.value, "close")
        source = SessionSource(platform, session_id)
        session_key = self.session_store._generate_session_key(source)  # noqa: SLF001 - see session
        await self._emit("session:end", source, session_key=session_key)

    async def _say(self, adapter: PlatformAdapter, source: SessionSource, text: str) -> None:
        """Send a chat a text outside its session. Bounded by a time-out, never raises."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._send(adapter, source, text), NOTICE_S)

    async def _send(self, adapter: PlatformAdapter, source: SessionSource, text: str) -> None:
        raise NotImplementedError
