"""One turn: its session, its agent, its outcome, and what is kept for the next turn."""

import logging
from functools import partial

from hermes_desktop.agent.types import (
    AgentResult,
    CallNote,
    ContextNews,
    ToolListener,
    TurnNews,
)
from hermes_desktop.core.concurrency.keyed_locks import WaitAbandonedError
from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.core.events import TurnStarted
from hermes_desktop.gateway.access.refusals import closing, no_database, timed_out
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.runner_showing import RunnerDisplay
from hermes_desktop.gateway.session import SessionEntry, SessionSource
from hermes_desktop.gateway.turns import agent_cache, hygiene, turn, turn_outcome, turn_watch
from hermes_desktop.gateway.turns.agent_preparation import (
    PreparedAgent,
    entry_after_turn,
    prepare_agent,
)
from hermes_desktop.gateway.turns.agents import AgentRequest, TurnAgent
from hermes_desktop.gateway.turns.channel_models import channel_model
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.turn_moves import follow_leases
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome
from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)

MAX_TOLD = 500
"""Maximum length of the messages and replies passed to event hooks."""


class RunnerTurns(RunnerDisplay):
    """Turns. On the event loop, unless a method says otherwise."""

    async def _outcome(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome:
        """Run the turn and return its outcome; never raises for a failed turn."""
        if record.unwanted:
            return turn_outcome.stopped()
        if self._draining:
            return self._not_begun(record)
        if self._refusing is not None:
            return turn_outcome.from_error(self._refusing)
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
            silence_s = self.config.running.agent_timeout_s
            outcome = turn_outcome.from_error(timed_out(silence_s), rows=record.rows)
        if self._is_cut_off(record, outcome) and not record.rows:
            if not self.inbox_kept:
                return turn_outcome.from_error(closing())
            self._left_for_next_run.add(record.turn_id)
        return turn_outcome.silenced(outcome) if self._is_unwanted(record, outcome) else outcome

    def _is_cut_off(self, record: TurnRecord, outcome: TurnOutcome) -> bool:
        """Return whether a shutdown interrupted a turn that the next run will resume."""
        ended = self._draining and outcome.outcome == "stopped"
        return ended and record.marked and not record.unwanted

    def _not_begun(self, record: TurnRecord) -> TurnOutcome:
        """Return the outcome of a message that arrives during shutdown."""
        if self._restart_requested and self.inbox_kept:
            self._left_for_next_run.add(record.turn_id)
            return turn_outcome.stopped()
        return turn_outcome.from_error(closing())

    def _outcome_of_waiting(self, record: TurnRecord) -> TurnOutcome:
        """Return the outcome of a turn that was ended before its session was free."""
        leaving = self._draining and self._is_current(record)
        return self._not_begun(record) if leaving else turn_outcome.stopped()

    def _is_unwanted(self, record: TurnRecord, outcome: TurnOutcome) -> bool:
        """Return whether the reply of a turn is no longer wanted."""
        if record.superseded and outcome.outcome == "stopped":
            return True
        cut_off = self._is_cut_off(record, outcome)
        return cut_off or record.unwanted or not self._is_current(record)

    async def _run_turn(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome:
        async with self._lease(event, source, record) as session_entry:
            await self._cross_automatic_boundary(record, adapter, source, session_entry)
            record.session_id = session_entry.session_id
            self.bus.publish(
                TurnStarted(event.turn_id, record.session_key, record.session_id, event.text)
            )
            event = await self._fetch_media(event, adapter, record)
            prepared = await self._prepared(record, event, adapter, session_entry)
            await self._note_begun(record)
            if not self._is_current(record):
                return turn_outcome.stopped()
            self._running_agents[record.session_key] = prepared.agent
            if prepared.warning:
                await self._say(adapter, source, prepared.warning)
            try:
                result = await self._run_watched(prepared.agent, source, adapter, record)
                settle = partial(self._settle, record, adapter, session_entry, prepared, result)
                await self._on_worker(record, settle)
            except BaseException:
                if self._is_current(record):
                    self._evict_cached_agent(record.session_key)  # what it has seen is unknown
                self._release_agent(prepared.agent)
                raise
            begun_anew = await self._after_exhaustion(record, adapter, session_entry, result)
        outcome = turn_outcome.from_result(
            result,
            history_len=prepared.mark.message_count if prepared.mark else 0,
            rows=record.rows,
            addition=begun_anew,
            notes=record.notes,
        )
        return self._with_thinking(record.session_key, adapter.platform, result, outcome)

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
        await self._emit("agent:start", source, **facts)
        watching = self._notices.start(self._watch_turn(record, source, adapter), name="watch")
        try:
            with self._showing(record, source, adapter):
                result = await self._run_agent(agent, source, record)
        finally:
            watching.cancel()
        reply = (result.get("final_response") or "")[:MAX_TOLD]
        await self._emit("agent:end", source, **facts, response=reply)
        return result

    async def _watch_turn(
        self, record: TurnRecord, source: SessionSource, adapter: PlatformAdapter
    ) -> None:
        """Notify the chat of a long turn, and end one that is inactive for too long."""
        settings = self.config.running
        # The user sees it work in the window and stops it when it takes too long.
        if adapter.platform is Platform.DESKTOP:
            return

        async def tell(text: str) -> None:
            await self._say(adapter, source, text)

        async def end() -> None:
            record.timed_out = True
            self.interrupt(record.session_key, "execution timed out")
            await self._leave_behind(record)

        await turn_watch.watch(turn_watch.TurnWatch(record, settings), self.clock, tell, end)

    async def _run_agent(
        self, agent: TurnAgent, source: SessionSource, record: TurnRecord
    ) -> AgentResult:
        stream = self._streams.get(record.turn_id)

        def publish(news: turn.TurnNews) -> None:
            record.touch()
            self.bus.publish(news)
            if stream is not None:
                stream.feed(news)

        relay = turn.DeltaRelay(record.turn_id, record.session_id, publish)
        try:
            async with follow_leases(agent, self._turn_leases, self._notices):
                run = partial(turn.run, agent, record, source, relay)
                result = await self._on_worker(record, run)
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
        relay = turn.DeltaRelay(record.turn_id, record.session_id, self.bus.publish)

        def tell(news: TurnNews) -> None:
            if isinstance(news, ContextNews | CallNote):
                relay.feed_news(news)

        prepare = partial(self._prepare_agent, record, event, adapter, session_entry, tell)
        try:
            return await self._on_worker(record, prepare)
        finally:
            relay.close()

    # On the turn's worker thread

    def _database(self) -> SessionDB:
        if self._session_db is None:
            raise no_database()
        return self._session_db._db  # noqa: SLF001 - the blocking face of the same database

    def _prepare_agent(
        self,
        record: TurnRecord,
        event: MessageEvent,
        adapter: PlatformAdapter,
        session_entry: SessionEntry,
        tell: ToolListener,
    ) -> PreparedAgent:
        """Prepare the session and an agent: a cached one, or a new one."""
        db = self._database()
        self._mark_turn(record, adapter, session_entry)
        session_key = session_entry.session_key
        with self._cache_guard():
            cached = self._agent_cache.get(session_key)
        try:
            adapter.prepare_session(db, session_entry, event)
            request = AgentRequest(
                session_id=session_entry.session_id,
                source=event.source_tag or adapter.platform.value,
                session_key=session_key,
                session_fields={
                    **self._first_config(session_key),
                    **adapter.session_fields(session_entry, event),
                },
                settings=self.agent_settings() if self.agent_settings is not None else "",
                model_override=self._model_override(session_entry),
            )
            prepared = prepare_agent(cached, request, db, self.agent_factory)
            prepared = hygiene.tidied(prepared, session_entry, record, db, tell)
        except NotFoundError:
            self._forget_conversation(session_key)
            raise
        if cached is not None and cached[0] is not prepared.agent:
            self._evict_cached_agent(session_key)
        return prepared

    def _model_override(self, session_entry: SessionEntry) -> dict[str, str]:
        """Return the model settings of a chat's session where they are not the defaults.

        They include its reasoning settings. A choice made for the session overrides that of its
        channel.
        """
        session_key = session_entry.session_key
        chosen = self._session_model_overrides.get(session_key) or session_entry.model_override
        chosen = chosen or self.channel_model(session_entry.origin)
        return {**(chosen or {}), **self._thinking_of(session_entry.session_id, session_key)}

    def channel_model(self, source: SessionSource | None) -> dict[str, str]:
        """Return the model that a platform's settings assign to a chat; empty: the default."""
        return channel_model(self.config.platforms, source)

    def _settle(
        self,
        record: TurnRecord,
        adapter: PlatformAdapter,
        session_entry: SessionEntry,
        prepared: PreparedAgent,
        result: AgentResult,
    ) -> None:
        """Finish a turn: follow a rotation, cache the agent with a new baseline, evict old ones."""
        if not self._is_current(record):
            self._release_agent(prepared.agent)
            return
        if result.get("error_kind") == "session_gone":
            self._forget_conversation(record.session_key)
            return
        session_id = result.get("session_id") or record.session_id
        if session_id != record.session_id and session_entry.session_id == record.session_id:
            adapter.session_rotated(record.session_id, session_id)
            self._adopt_rotated_session(session_entry, session_id)
            self.session_store.record_rotation(session_entry)
        entry = entry_after_turn(prepared, record.session_id, result)
        with self._cache_guard():
            agent_cache.put(self._agent_cache, record.session_key, entry)
            self._agent_last_used[record.session_key] = self.clock.monotonic()
        self._sweep_idle_cached_agents()

    def _adopt_rotated_session(self, session_entry: SessionEntry, new_id: str) -> None:
        raise NotImplementedError

    def _mark_turn(
        self, record: TurnRecord, adapter: PlatformAdapter, session_entry: SessionEntry
    ) -> None:
        """Mark the chat of a starting turn, in case the process is killed."""

    async def _note_begun(self, record: TurnRecord) -> None:
        """Record that a message is being answered; its chat is already marked."""
