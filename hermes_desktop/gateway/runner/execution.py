"""One turn: its session, its agent, its outcome, and what is kept for the next turn."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from hermes_desktop.agent.types import (
    AgentRequest,
    AgentResult,
    CallNote,
    ContextNews,
    ToolListener,
    TurnAgent,
    TurnNews,
)
from hermes_desktop.core.concurrency.keyed_locks import WaitAbandonedError
from hermes_desktop.core.errors import BusyError, HermesError, NotFoundError
from hermes_desktop.core.events import TurnStarted
from hermes_desktop.gateway.access.refusals import closing, timed_out
from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.boundaries import Boundaries
from hermes_desktop.gateway.runner.claims import Claims
from hermes_desktop.gateway.runner.control import TurnWatch, watch
from hermes_desktop.gateway.runner.core_parts import CoreParts
from hermes_desktop.gateway.runner.reasoning import ReasoningChoices
from hermes_desktop.gateway.runner.recovery import ResumeMarks
from hermes_desktop.gateway.session import SessionEntry, SessionSource
from hermes_desktop.gateway.turns import turn, turn_outcome
from hermes_desktop.gateway.turns.agent_cache import (
    PreparedAgent,
    entry_after_turn,
    prepare_agent,
    tidied,
)
from hermes_desktop.gateway.turns.turn import TurnRecord, follow_leases, inbound_text
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_TOLD = 500
"""Maximum length of the messages and replies passed to event hooks."""


@dataclass(frozen=True, slots=True)
class TurnParts:
    """The parts that decide when a turn may run, in which session, and what is kept of it.

    Attributes:
        reasoning: How each chat's model reasons, and whether that is shown.
        boundaries: Ends sessions and begins the next.
        claims: The turns that run, and their places.
        marks: Marks chats while their turns run.
    """

    reasoning: ReasoningChoices
    boundaries: Boundaries
    claims: Claims
    marks: ResumeMarks


class TurnExecution:
    """Runs the turns of messages. On the event loop, unless a method says otherwise.

    Args:
        adopt_rotated: Updates a chat's entry to the new id of its session after a rotation.
        sweep: Evicts unused agents.
    """

    def __init__(
        self,
        core: CoreParts,
        turns: TurnParts,
        *,
        adopt_rotated: Callable[[SessionEntry, str], None],
        sweep: Callable[[], int],
    ) -> None:
        self._state = core.state
        self._chats = core.chats
        self._claims = turns.claims
        self._agents = core.agents
        self._reasoning = turns.reasoning
        self._boundaries = turns.boundaries
        self._control = core.control
        self._hook_calls = core.hook_calls
        self._streams = core.streams
        self._replies = core.replies
        self._incoming = core.incoming
        self._marks = turns.marks
        self._adopt = adopt_rotated
        self._sweep = sweep

    async def outcome(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome:
        """Run the turn and return its outcome; never raises for a failed turn."""
        if (ended := self._ended_before(record)) is not None:
            return ended
        try:
            async with self._claims.session_lease(record.session_id or record.session_key):
                return await self._outcome(event, source, adapter, record)
        except BusyError as error:
            return turn_outcome.from_error(error)

    def _ended_before(self, record: TurnRecord) -> TurnOutcome | None:
        """Return the outcome of a turn that must not begin any more; None if it may begin."""
        if record.unwanted:
            return turn_outcome.stopped()
        return self._marks.not_begun(record) if self._state.draining else None

    async def _outcome(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome:
        if (ended := self._ended_before(record)) is not None:
            return ended
        if self._state.refusing is not None:
            return turn_outcome.from_error(self._state.refusing)
        try:
            outcome = await self._run_turn(event, source, adapter, record)
        except WaitAbandonedError:
            outcome = self._outcome_of_waiting(record)
        except HermesError as error:
            log.warning("A turn failed: %s", error)
            outcome = turn_outcome.from_error(error, rows=record.rows)
        except Exception as error:  # a bug, but the sender still gets a reply
            if record.given_up.is_set():
                outcome = turn_outcome.stopped(rows=record.rows)
            else:
                log.exception("A turn failed")
                outcome = turn_outcome.from_error(error, rows=record.rows)
        return self._reported_outcome(record, outcome)

    def _reported_outcome(self, record: TurnRecord, outcome: TurnOutcome) -> TurnOutcome:
        """Return the outcome as it is reported to its chat."""
        if record.timed_out and outcome.outcome != "done":
            silence_s = self._state.config.running.agent_timeout_s
            outcome = turn_outcome.from_error(timed_out(silence_s), rows=record.rows)
        if self._marks.is_cut_off(record, outcome) and not record.rows:
            if not self._state.inbox_kept:
                return turn_outcome.from_error(closing())
            self._state.left_for_next_run.add(record.turn_id)
        return turn_outcome.silenced(outcome) if self._is_unwanted(record, outcome) else outcome

    def _outcome_of_waiting(self, record: TurnRecord) -> TurnOutcome:
        """Return the outcome of a turn that was ended before its session was free."""
        leaving = self._state.draining and self._control.is_current(record)
        return self._marks.not_begun(record) if leaving else turn_outcome.stopped()

    def _is_unwanted(self, record: TurnRecord, outcome: TurnOutcome) -> bool:
        """Return whether the reply of a turn is no longer wanted."""
        if record.superseded and outcome.outcome == "stopped":
            return True
        cut_off = self._marks.is_cut_off(record, outcome)
        return cut_off or record.unwanted or not self._control.is_current(record)

    async def _run_turn(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome:
        async with self._claims.lease(event, source, record) as session_entry:
            await self._boundaries.cross_automatically(record, adapter, source, session_entry)
            record.session_id = session_entry.session_id
            self._state.bus.publish(
                TurnStarted(event.turn_id, record.session_key, record.session_id, event.text)
            )
            event = await self._fetch_media(event, adapter, record)
            prepared = await self._prepared(record, event, adapter, session_entry)
            await self._incoming.note_begun(record)
            if not self._control.is_current(record):
                return turn_outcome.stopped()
            self._chats[record.session_key].agent = prepared.agent
            if prepared.warning:
                await self._replies.say(adapter, source, prepared.warning)
            try:
                result = await self._run_watched(prepared.agent, source, adapter, record)
                settle = partial(self._settle, record, adapter, session_entry, prepared, result)
                await self.on_worker(record, settle)
            except BaseException:
                if self._control.is_current(record):
                    self._agents.evict(record.session_key)  # what it has seen is unknown
                self._agents.release(prepared.agent)
                raise
            begun_anew = await self._boundaries.after_exhaustion(
                record, adapter, session_entry, result
            )
        outcome = turn_outcome.from_result(
            result,
            history_len=prepared.mark.message_count if prepared.mark else 0,
            rows=record.rows,
            addition=begun_anew,
            notes=record.notes,
        )
        return self._reasoning.with_reasoning(record.session_key, adapter.platform, result, outcome)

    async def _run_watched(
        self, agent: TurnAgent, source: SessionSource, adapter: PlatformAdapter, record: TurnRecord
    ) -> AgentResult:
        """Run the agent and watch its duration."""
        facts = {
            "chat_id": source.chat_id,
            "thread_id": source.thread_id,
            "chat_type": source.chat_type,
            "session_id": record.session_id,
            "message": record.prompt[:MAX_TOLD],
        }
        await self._hook_calls.emit("agent:start", source, **facts)
        watching = self._state.notices.start(
            self._watch_turn(record, source, adapter), name="watch"
        )
        try:
            with self._streams.showing(record, source, adapter):
                result = await self.run_agent(agent, source, record)
        finally:
            watching.cancel()
        reply = (result.get("final_response") or "")[:MAX_TOLD]
        await self._hook_calls.emit("agent:end", source, **facts, response=reply)
        return result

    async def _watch_turn(
        self, record: TurnRecord, source: SessionSource, adapter: PlatformAdapter
    ) -> None:
        """Notify the chat of a long turn, and end one that is inactive for too long."""
        settings = self._state.config.running
        # The user sees it work in the window and stops it when it takes too long.
        if adapter.platform is Platform.DESKTOP:
            return

        async def tell(text: str) -> None:
            await self._replies.say(adapter, source, text)

        async def end() -> None:
            record.timed_out = True
            self._control.interrupt(record.session_key, "execution timed out")
            await self._control.leave_behind(record)

        await watch(TurnWatch(record, settings), self._state.clock, tell, end)

    async def run_agent(
        self, agent: TurnAgent, source: SessionSource, record: TurnRecord
    ) -> AgentResult:
        """Run a prepared agent on a worker; its output is published while it runs."""
        stream = self._streams.of_turn(record.turn_id)

        def publish(news: turn.TurnNews) -> None:
            record.touch()
            self._state.bus.publish(news)
            if stream is not None:
                stream.feed(news)

        relay = turn.DeltaRelay(record.turn_id, record.session_id, publish)
        try:
            async with follow_leases(agent, self._state.turn_leases, self._state.notices):
                run = partial(turn.run, agent, record, source, relay)
                result = await self.on_worker(record, run)
        finally:
            relay.close()
        if stream is not None:
            stream.done = not result.get("failed") and not result.get("interrupted")
        return result

    async def _prepared(
        self,
        record: TurnRecord,
        event: MessageEvent,
        adapter: PlatformAdapter,
        session_entry: SessionEntry,
    ) -> PreparedAgent:
        """Prepare the agent; progress is published if that takes long."""
        relay = turn.DeltaRelay(record.turn_id, record.session_id, self._state.bus.publish)

        def tell(news: TurnNews) -> None:
            if isinstance(news, ContextNews | CallNote):
                relay.feed_news(news)

        prepare = partial(self._prepare_agent, record, event, adapter, session_entry, tell)
        try:
            return await self.on_worker(record, prepare)
        finally:
            relay.close()

    async def _fetch_media(
        self, event: MessageEvent, adapter: PlatformAdapter, record: TurnRecord
    ) -> MessageEvent:
        """Fetch the attachments of a message that is answered now.

        Raises:
            WaitAbandonedError: The turn was ended and is not to be started later.
        """
        fetching = asyncio.ensure_future(adapter.with_media(event))
        ending = asyncio.ensure_future(record.ending.wait())
        try:
            await asyncio.wait({fetching, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not fetching.done():
                if self._state.draining:  # the next run fetches it
                    return event
                raise WaitAbandonedError
            fetched = fetching.result()
        finally:
            fetching.cancel()
            ending.cancel()
        if fetched is not event and fetched.source is not None:
            record.prompt = inbound_text(fetched, fetched.source, self._state.config)
        return fetched

    async def on_worker(self, record: TurnRecord, call: Callable[[], T]) -> T:
        """Await a blocking call of a turn; stop waiting when the turn is abandoned."""
        return await self._state.turn_workers.run_unless(record.given_up, call)

    # On the turn's worker thread

    def _prepare_agent(
        self,
        record: TurnRecord,
        event: MessageEvent,
        adapter: PlatformAdapter,
        session_entry: SessionEntry,
        tell: ToolListener,
    ) -> PreparedAgent:
        """Prepare the session and an agent: a cached one, or a new one."""
        db = self._state.database()
        self._marks.mark(record, adapter, session_entry)
        session_key = session_entry.session_key
        cached = self._agents.get(session_key)
        try:
            adapter.prepare_session(db, session_entry, event)
            fields = {
                **self._reasoning.first_config(session_key),
                **adapter.session_fields(session_entry, event),
            }
            row = db.get_session(session_entry.session_id)
            request = AgentRequest(
                session_id=session_entry.session_id,
                source=event.source_tag or adapter.platform.value,
                session_key=session_key,
                session_fields=fields,
                settings=self.agent_settings(),
                model_override=self.model_override(session_entry),
                folder=str((fields if row is None else row).get("cwd") or ""),
            )
            prepared = prepare_agent(cached, request, db, self._state.agent_factory)
            prepared = tidied(prepared, session_entry, record, db, tell)
        except NotFoundError:
            self._agents.forget(session_key)
            raise
        if cached is not None and cached[0] is not prepared.agent:
            self._agents.evict(session_key)
        return prepared

    def model_override(self, session_entry: SessionEntry) -> dict[str, str]:
        """Return the model settings of a chat's session where they are not the defaults.

        They include its reasoning settings. A choice made for the session overrides that of its
        channel.
        """
        session_key = session_entry.session_key
        chosen = self._chats.peek(session_key).model_override or session_entry.model_override
        chosen = chosen or self.channel_model(session_entry.origin)
        return {
            **(chosen or {}),
            **self._reasoning.settings_of(session_entry.session_id, session_key),
        }

    def agent_settings(self) -> str:
        """Return the settings that agents would be created from now. Blocking."""
        return self._state.agent_settings() if self._state.agent_settings is not None else ""

    def channel_model(self, source: SessionSource | None) -> dict[str, str]:
        """Return the model that a platform's settings assign to a chat; empty: the default."""
        return channel_model(self._state.config.platforms, source)

    def _settle(
        self,
        record: TurnRecord,
        adapter: PlatformAdapter,
        session_entry: SessionEntry,
        prepared: PreparedAgent,
        result: AgentResult,
    ) -> None:
        """Finish a turn: follow a rotation, cache the agent with a new baseline, evict old ones."""
        if not self._control.is_current(record):
            self._agents.release(prepared.agent)
            return
        if result.get("error_kind") == "session_gone":
            self._agents.forget(record.session_key)
            return
        session_id = result.get("session_id") or record.session_id
        if session_id != record.session_id and session_entry.session_id == record.session_id:
            adapter.session_rotated(record.session_id, session_id)
            self._adopt(session_entry, session_id)
            self._state.session_store.record_rotation(session_entry)
        entry = entry_after_turn(prepared, record.session_id, result)
        self._agents.put(record.session_key, entry)
        self._sweep()


def channel_model(
    platforms: Mapping[Platform, PlatformConfig], source: SessionSource | None
) -> dict[str, str]:
    """Return ``model`` and ``provider`` as set by ``channel_overrides``; empty: the defaults.

    A thread takes precedence over its channel, and a channel over its parent.
    """
    settings = platforms.get(source.platform) if source is not None else None
    if settings is None or source is None:
        return {}
    for name in (source.thread_id, source.chat_id, source.parent_chat_id):
        own = settings.channel_overrides.get(str(name)) if name else None
        if own is not None:
            chosen = {"model": own.model, "provider": own.provider}
            return {key: value for key, value in chosen.items() if value}
    return {}
