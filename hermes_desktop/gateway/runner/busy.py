"""Handling of messages that arrive during a turn, and of turns that are considered dead."""

import logging

from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.access.refusals import too_many_waiting
from hermes_desktop.gateway.config.config_running import BusyInputMode
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.control import TurnControl
from hermes_desktop.gateway.runner.queue import TurnQueue
from hermes_desktop.gateway.runner.recovery import ResumeMarks
from hermes_desktop.gateway.runner.replies import Replies
from hermes_desktop.gateway.runner.state import RunnerState
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


class BusyChats:
    """Interrupts, queues, steers or refuses messages to busy chats. On the event loop."""

    def __init__(
        self,
        state: RunnerState,
        chats: Chats,
        control: TurnControl,
        queue: TurnQueue,
        replies: Replies,
        marks: ResumeMarks,
    ) -> None:
        self._state = state
        self._chats = chats
        self._control = control
        self._queue = queue
        self._replies = replies
        self._marks = marks

    async def handle(
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
        if not self._chats.is_busy(session_key):
            return None
        if self._state.draining:
            return self._marks.not_begun(record)
        running = self._chats.peek(session_key).turn
        mode: BusyInputMode = "queue" if event.internal else self._busy_mode(adapter)
        chat = await self._look_at(session_key, running, mode)
        busy = chat.decide()
        if busy is Busy.REFUSE:
            return turn_outcome.from_error(too_many_waiting(chat.waiting))
        if busy is Busy.STEER and (
            event.has_files() or not self._queue.steer(event, source, adapter)
        ):  # only the text of a message with files would be passed on
            busy = Busy.QUEUE
        if busy is Busy.INTERRUPT and running is not None:
            running.superseded = True
            self._control.interrupt(session_key, "a new message came")
        if not event.internal:
            self._acknowledge(busy, chat.waiting + 1, source, adapter, session_key)
        return turn_outcome.answered("") if busy is Busy.STEER else None

    def _busy_mode(self, adapter: PlatformAdapter) -> BusyInputMode:
        if adapter.platform is Platform.DESKTOP:
            return "queue"
        return adapter.busy_mode or self._state.config.running.busy_input_mode

    async def _look_at(
        self, session_key: str, running: TurnRecord | None, mode: BusyInputMode
    ) -> BusyChat:
        agent = self._chats.peek(session_key).agent
        compressing = False
        if mode == "interrupt" and running is not None and self._state.session_db is not None:
            try:
                holder = await self._state.session_db.get_compression_lock_holder(
                    running.session_id
                )
                compressing = holder is not None
            except HermesError:  # unknown counts as compressing: nothing is cut in two
                compressing = True
        return BusyChat(
            mode=mode,
            waiting=len(self._chats.peek(session_key).waiting),
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
        now = self._state.clock.monotonic()
        chat = self._chats[session_key]
        recently = chat.acknowledged_at is not None and now - chat.acknowledged_at < ACK_INTERVAL_S
        if adapter.platform is Platform.DESKTOP or recently:
            return
        if not self._state.config.running.busy_ack_enabled:
            return
        chat.acknowledged_at = now
        running = chat.turn
        minutes = int((now - running.began_at) // 60) if running is not None else 0
        words = acknowledgement(busy, position=position, minutes=minutes)
        self._state.notices.start(
            self._replies.say(adapter, source, words), name="acknowledge a message"
        )

    async def _evict_if_stale(self, session_key: str) -> None:
        """Give up a turn that was inactive for too long, so that its chat does not stay blocked."""
        record = self._chats.peek(session_key).turn
        if record is None:
            return
        agent = self._chats.peek(session_key).agent
        stale = is_stale(
            now=self._state.clock.monotonic(),
            began_at=record.began_at,
            active_at=record.seen_at,
            timeout_s=self._state.config.running.agent_timeout_s,
            has_agent=agent is not None and agent is not PENDING,
        )
        if stale:
            log.warning("The turn of %s was silent for too long and is given up", session_key)
            await self._control.stop_running(record, "execution timed out")
