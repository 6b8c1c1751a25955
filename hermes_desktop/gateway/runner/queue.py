"""The queue of a chat: messages that wait for their turn, and messages for a running turn.

A message that is passed to a running turn stays unprocessed until the agent has stored it behind a
tool's result. Messages that no tool result followed are answered next, like any other message.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from hermes_desktop.gateway.access.refusals import closing, too_many_waiting
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.claims import Claims
from hermes_desktop.gateway.runner.execution import TurnExecution
from hermes_desktop.gateway.runner.incoming import IncomingMessages
from hermes_desktop.gateway.runner.recovery import ResumeMarks
from hermes_desktop.gateway.runner.replies import Replies
from hermes_desktop.gateway.runner.state import RunnerState
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns import turn_outcome
from hermes_desktop.gateway.turns.agent_cache import PENDING
from hermes_desktop.gateway.turns.busy_messages import MAX_QUEUED
from hermes_desktop.gateway.turns.inbound_text import inbound_text
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)


class TurnQueue:
    """Answers messages in their turn, or passes them to a running one. On the event loop."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts that it uses
        self,
        state: RunnerState,
        chats: Chats,
        claims: Claims,
        execution: TurnExecution,
        replies: Replies,
        incoming: IncomingMessages,
        marks: ResumeMarks,
    ) -> None:
        self._state = state
        self._chats = chats
        self._claims = claims
        self._execution = execution
        self._replies = replies
        self._incoming = incoming
        self._marks = marks

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
