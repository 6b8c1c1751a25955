"""The queue of a chat: messages to a busy chat wait, interrupt, or go to the running turn.

A message that is passed to a running turn stays unprocessed until the agent has stored it behind a
tool's result. Messages that no tool result followed are answered next, like any other message.
"""

import asyncio
import contextlib
import enum
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.access.refusals import closing, too_many_waiting
from hermes_desktop.gateway.config.config_running import BusyInputMode
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.core_parts import CoreParts
from hermes_desktop.gateway.runner.execution import TurnExecution, TurnParts
from hermes_desktop.gateway.runner.recovery import ResumeMarks
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns import turn_outcome
from hermes_desktop.gateway.turns.agent_cache import PENDING
from hermes_desktop.gateway.turns.turn import TurnRecord, inbound_text
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome

log = logging.getLogger(__name__)

MAX_QUEUED = 32
"""Maximum number of waiting messages in one chat."""


class TurnQueue:
    """Answers messages in their turn, or passes them to a running one. On the event loop."""

    def __init__(
        self,
        core: CoreParts,
        turns: TurnParts,
        execution: TurnExecution,
    ) -> None:
        self._state = core.state
        self._chats = core.chats
        self._claims = turns.claims
        self._execution = execution
        self._replies = core.replies
        self._incoming = core.incoming
        self._marks = turns.marks

    async def add(self, event: MessageEvent) -> int:
        """Queue a message behind the turns of its chat, without interrupting.

        Its sender is not authorized again and it is never treated as a command.

        Returns:
            The number of messages that wait in that chat now, this one included; 0 when it is
            answered immediately.

        Raises:
            BusyError: Too many wait already.
            RefusedError: The program is closing, or the platform of the message is not served.
        """
        source = event.source
        adapter = self._state.adapters.get(source.platform) if source is not None else None
        if self._state.draining or source is None or adapter is None:
            raise closing()
        session_key = self._state.session_key(source)
        chat = self._chats.peek(session_key)
        busy, waiting = chat.is_busy, len(chat.waiting)
        if waiting >= MAX_QUEUED:
            raise too_many_waiting(waiting)
        self.enqueue(event, source, adapter)
        return waiting + 1 if busy else 0

    def enqueue(
        self, event: MessageEvent, source: SessionSource, adapter: PlatformAdapter, note: str = ""
    ) -> None:
        """Queue a message to be answered in its turn.

        Raises:
            RefusedError: A stop was requested; nothing has changed.
        """
        session_key = self._state.session_key(source)
        prompt = inbound_text(event, source, self._state.config)
        record = TurnRecord(event.turn_id, session_key, prompt, event.message_id, note=note)
        answering = self._answer_later(event, source, adapter, record)
        self._state.message_tasks.start(answering, name=f"turn {event.turn_id}")
        self._state.queued_turns.add(event.turn_id)
        adapter.expect_turn(event.turn_id, session_key)

    async def _answer_later(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> None:
        """Answer a queued message; it counts as processed only afterwards."""
        try:
            await self.answer(event, source, adapter, record)
        finally:
            self._state.queued_turns.discard(event.turn_id)
        await self._incoming.finished(event)

    async def answer(
        self,
        event: MessageEvent,
        source: SessionSource,
        adapter: PlatformAdapter,
        record: TurnRecord,
    ) -> str:
        """Wait for the chat to be free, run the turn, publish its end, deliver its reply."""
        outcome = None
        try:
            async with self._claims.claim(record):
                outcome = await self._execution.outcome(event, source, adapter, record)
                record.answered = True
                self._answer_unheard(record)
                # Before the delivery, which may take long, and before the next turn of the session
                # is announced: its lease is free by now.
                self._state.bus.publish(turn_outcome.finished_event(record, outcome))
                await self._replies.deliver(event, adapter, outcome.delivery)
                await self._marks.settle(record, outcome)
        except asyncio.CancelledError:
            # The runner stops; listeners still need the end of this turn.
            if outcome is None:
                begun = record.generation > 0
                outcome = (
                    turn_outcome.stopped(rows=record.rows)
                    if begun
                    else turn_outcome.from_error(closing(), rows=record.rows)
                )
                self._state.bus.publish(turn_outcome.finished_event(record, outcome))
            raise
        return outcome.delivery

    # Steering

    def steer(self, event: MessageEvent, source: SessionSource, adapter: PlatformAdapter) -> bool:
        """Pass a message to the running turn of its chat.

        Returns:
            False when that is not possible: then nothing has changed.
        """
        chat = self._chats.peek(self._state.session_key(source))
        record, agent = chat.turn, chat.agent
        if record is None or record.stop_requested or record.answered or agent is PENDING:
            return False
        loop = asyncio.get_running_loop()

        def heard() -> None:
            # The loop is gone: the next run processes the message again.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._steer_heard, record, event)

        record.steered[event.turn_id] = partial(self.enqueue, event, source, adapter)
        self._state.queued_turns.add(event.turn_id)
        if _tell(agent, inbound_text(event, source, self._state.config), heard):
            return True
        del record.steered[event.turn_id]
        self._state.queued_turns.discard(event.turn_id)
        return False

    def _steer_heard(self, record: TurnRecord, event: MessageEvent) -> None:
        """Mark a message as processed once it is stored with what the model reads."""
        if record.steered.pop(event.turn_id, None) is not None:
            self._let_go(event)

    def _answer_unheard(self, record: TurnRecord) -> None:
        """Queue the steering messages that the finished turn did not receive."""
        unheard, record.steered = record.steered, {}
        for turn_id, enqueue in unheard.items():
            event: MessageEvent = enqueue.args[0]
            if record.unwanted:  # /stop drops waiting messages
                self._let_go(event)
            elif not self._state.draining:
                enqueue()
            elif self._state.inbox_kept:
                self._state.queued_turns.discard(turn_id)
                self._state.left_for_next_run.add(turn_id)
            else:
                log.warning("A message to a running turn is not answered: the gateway stops")
                self._state.queued_turns.discard(turn_id)

    def _let_go(self, event: MessageEvent) -> None:
        self._state.queued_turns.discard(event.turn_id)
        self._state.notices.start(self._incoming.finished(event), name="message finished")


def _tell(agent: Any, text: str, heard: Callable[[], None]) -> bool:
    """Pass a message to a running agent; return False when that is not possible."""
    steer = getattr(agent, "steer", None)
    if steer is None:
        return False
    try:
        if getattr(agent, "says_what_it_heard", False):
            return bool(steer(text, heard))
        if not steer(text):
            return False
    except Exception:  # a bug in an agent; the message is queued instead
        log.exception("A message could not be passed to a running agent")
        return False
    heard()
    return True


ACK_INTERVAL_S = 30.0
"""Minimum time between two acknowledgements of waiting messages in a chat."""


class Busy(enum.Enum):
    """The handling of a message to a busy chat."""

    INTERRUPT = "interrupt"
    """The running turn is interrupted, and this message is answered next."""
    QUEUE = "queue"
    """The message waits for its turn."""
    STEER = "steer"
    """The message is passed to the running turn."""
    REFUSE = "refuse"
    """Too many messages wait already."""


@dataclass(frozen=True, slots=True)
class BusyChat:
    """A busy chat.

    Attributes:
        mode: The configured busy mode.
        waiting: The number of waiting messages.
        heard: Whether the running turn has stored its own message and is not over: before, an
            interruption would lose it, afterwards there is nothing to interrupt.
        subagents: Whether the running turn has subagents at work, which an interruption would kill.
        compressing: Whether its session is being compacted, which must not be interrupted.
    """

    mode: BusyInputMode
    waiting: int = 0
    heard: bool = True
    subagents: bool = False
    compressing: bool = False

    def decide(self) -> Busy:
        """Decide how to handle another message."""
        if self.waiting >= MAX_QUEUED:
            return Busy.REFUSE
        if self.mode == "steer":
            return Busy.STEER
        protected = self.subagents or self.compressing or not self.heard
        if self.mode == "interrupt" and not protected:
            return Busy.INTERRUPT
        return Busy.QUEUE


def acknowledgement(busy: Busy, *, position: int, minutes: int) -> str:
    """Return the acknowledgement for the chat.

    Args:
        busy: How the message is handled.
        position: Its position among the waiting messages, from 1.
        minutes: For how many minutes the running turn has been at work.
    """
    since = f" (running for {minutes} min)" if minutes >= 1 else ""
    if busy is Busy.INTERRUPT:
        return f"I will stop the current reply{since} and answer your message."
    if busy is Busy.STEER:
        return f"I will take that into account in my reply{since}."
    if position <= 1:
        return f"I will answer this next{since}. To stop the current reply, send /stop."
    return (
        f"I will answer this in turn, after {position - 1} others{since}. To discard what "
        "is waiting, send /stop."
    )


def is_stale(
    *, now: float, began_at: float, active_at: float, timeout_s: float, has_agent: bool
) -> bool:
    """Return whether a running turn is considered dead. All times are monotonic seconds.

    Args:
        now: The current time.
        began_at: When it got its claim.
        active_at: The time of its last activity.
        timeout_s: How long it may be inactive; 0: forever.
        has_agent: Whether its agent is created already; before that it is never stale.
    """
    if not has_agent or timeout_s <= 0:
        return False
    return now - active_at >= timeout_s or now - began_at >= max(10 * timeout_s, 7200.0)


class BusyChats:
    """Interrupts, queues, steers or refuses messages to busy chats. On the event loop."""

    def __init__(
        self,
        core: CoreParts,
        queue: TurnQueue,
        marks: ResumeMarks,
    ) -> None:
        self._state = core.state
        self._chats = core.chats
        self._control = core.control
        self._queue = queue
        self._replies = core.replies
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
        """Abandon a turn that was inactive for too long, so that its chat does not stay blocked."""
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
            log.warning("The turn of %s was inactive for too long and is abandoned", session_key)
            await self._control.stop_running(record, "execution timed out")
