"""Handling of messages that arrive during a turn, and of turns that are considered dead."""

import contextlib
import logging
from collections.abc import AsyncIterator
from functools import partial

from hermes_desktop.core.errors import BusyError, HermesError
from hermes_desktop.gateway.access.refusals import too_many_conversations, too_many_waiting
from hermes_desktop.gateway.config.config_running import BusyInputMode
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.identity.active_sessions import ActiveSessions
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.platforms.messages import Question
from hermes_desktop.gateway.runner.runner_steering import RunnerSteering
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns import turn_outcome
from hermes_desktop.gateway.turns.agent_cache import PENDING
from hermes_desktop.gateway.turns.busy_messages import (
    ACK_INTERVAL_S,
    Busy,
    BusyChat,
    acknowledgement,
    is_stale,
)
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome

log = logging.getLogger(__name__)


class RunnerBusy(RunnerSteering):
    """Interrupt, queue or refuse messages to busy chats; on the event loop."""

    async def _handle_busy_chat(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome | None:
        """Apply the configured busy mode if the chat of a message is busy.

        Returns:
            The final outcome of the message; None: it is answered in its turn.
        """
        session_key = record.session_key
        if adapter.platform is not Platform.DESKTOP:
            await self._evict_if_stale(session_key)
        if not self.is_busy(session_key):
            return None
        if self._draining:
            return self._not_begun(record)
        running = self._turns.get(session_key)
        mode: BusyInputMode = "queue" if event.internal else self._busy_mode(adapter)
        chat = await self._look_at(session_key, running, mode)
        busy = chat.decide()
        if busy is Busy.REFUSE:
            return turn_outcome.from_error(too_many_waiting(chat.waiting))
        if busy is Busy.STEER and (
            event.has_files() or not self.steer_turn(event, source, adapter)
        ):  # only the text of a message with files would be passed on
            busy = Busy.QUEUE
        if busy is Busy.INTERRUPT and running is not None:
            running.superseded = True
            self.interrupt(session_key, "a new message came")
        if not event.internal:
            self._acknowledge(busy, chat.waiting + 1, source, adapter, session_key)
        return turn_outcome.answered("") if busy is Busy.STEER else None

    def _busy_mode(self, adapter: PlatformAdapter) -> BusyInputMode:
        if adapter.platform is Platform.DESKTOP:
            return "queue"
        return adapter.busy_mode or self.config.running.busy_input_mode

    async def _look_at(
        self, session_key: str, running: TurnRecord | None, mode: BusyInputMode
    ) -> BusyChat:
        agent = self._running_agents.get(session_key)
        compressing = False
        if mode == "interrupt" and running is not None and self._session_db is not None:
            try:
                holder = await self._session_db.get_compression_lock_holder(running.session_id)
                compressing = holder is not None
            except HermesError:  # unknown counts as compressing: nothing is cut in two
                compressing = True
        return BusyChat(
            mode=mode,
            waiting=len(self._queued_events.get(session_key, ())),
            heard=running is not None and bool(running.rows) and not running.answered,
            subagents=bool(getattr(agent, "_active_children", None)),
            compressing=compressing,
        )

    def _acknowledge(
        self,
        busy: Busy,
        position: int,
        source: SessionSource,
        adapter: PlatformAdapter,
        session_key: str,
    ) -> None:
        """Notify a chat, at a limited rate, of what happens to its message."""
        now = self.clock.monotonic()
        last = self._busy_ack_ts.get(session_key)
        recently = last is not None and now - last < ACK_INTERVAL_S
        if adapter.platform is Platform.DESKTOP or recently:
            return
        if not self.config.running.busy_ack_enabled:
            return
        for key in [each for each, at in self._busy_ack_ts.items() if now - at >= ACK_INTERVAL_S]:
            del self._busy_ack_ts[key]
        self._busy_ack_ts[session_key] = now
        running = self._turns.get(session_key)
        minutes = int((now - running.began_at) // 60) if running is not None else 0
        words = acknowledgement(busy, position=position, minutes=minutes)
        self._notices.start(self._say(adapter, source, words), name="acknowledge a message")

    def say_soon(self, adapter: PlatformAdapter, source: SessionSource, text: str) -> None:
        """Send a chat a text outside its session, without waiting for it."""
        self._notices.start(self._say(adapter, source, text), name="say")

    def ask_soon(self, adapter: PlatformAdapter, source: SessionSource, asked: Question) -> None:
        """Send a chat a question with buttons, without waiting for it."""
        self._notices.start(self._ask_chat(adapter, source, asked), name="ask")

    async def _evict_if_stale(self, session_key: str) -> None:
        """Give up a turn that was inactive for too long, so that its chat does not stay blocked."""
        record = self._turns.get(session_key)
        if record is None:
            return
        agent = self._running_agents.get(session_key)
        stale = is_stale(
            now=self.clock.monotonic(),
            began_at=record.began_at,
            active_at=record.seen_at,
            timeout_s=self.config.running.agent_timeout_s,
            has_agent=agent is not None and agent is not PENDING,
        )
        if stale:
            log.warning("The turn of %s was silent for too long and is given up", session_key)
            await self._stop_running(record, "execution timed out")

    # Limit of concurrent sessions

    async def _outcome(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> TurnOutcome:
        """Run the turn under a lease where the number of sessions is limited."""
        if record.unwanted or self._draining:
            return await super()._outcome(event, source, adapter, record)
        try:
            async with self._session_lease(record.session_id or record.session_key):
                return await super()._outcome(event, source, adapter, record)
        except BusyError as error:
            return turn_outcome.from_error(error)

    @contextlib.asynccontextmanager
    async def _session_lease(self, name: str) -> AsyncIterator[None]:
        """Hold one of the leases that all programs share, where their number is limited.

        Raises:
            BusyError: All are taken.
        """
        limit = self.config.max_concurrent_sessions
        if limit is None or self.home is None:
            yield
            return
        places = ActiveSessions(self.home, self.clock)
        lease = await self._aside(places.take, name, limit)
        if lease is None:
            raise too_many_conversations(limit)
        try:
            yield
        finally:
            await self._aside(partial(places.give_back, lease))
