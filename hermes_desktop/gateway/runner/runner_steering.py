"""Steering: passes messages of a chat to its running turn without losing any.

A passed message stays unprocessed until the agent has stored it behind a tool's result. Messages
that no tool result followed are answered next, like any other message.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.runner_turns import RunnerTurns
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.agent_cache import PENDING
from hermes_desktop.gateway.turns.inbound_text import inbound_text
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)


class RunnerSteering(RunnerTurns):
    """Steering of running turns; on the event loop."""

    def steer_turn(
        self, event: MessageEvent, source: SessionSource, adapter: PlatformAdapter
    ) -> bool:
        """Pass a message to the running turn of its chat.

        Returns:
            False when that is not possible: then nothing has changed.
        """
        session_key = self.session_store._generate_session_key(source)  # noqa: SLF001 - see session
        record = self._turns.get(session_key)
        agent = self._running_agents.get(session_key)
        if record is None or record.stop_requested or record.answered or agent is PENDING:
            return False
        loop = asyncio.get_running_loop()

        def heard() -> None:
            # The loop is gone: the next run processes the message again.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._steer_heard, record, event)

        record.steered[event.turn_id] = partial(self._enqueue, event, source, adapter)
        self._queued_turns.add(event.turn_id)
        if _tell(agent, inbound_text(event, source, self.config), heard):
            return True
        del record.steered[event.turn_id]
        self._queued_turns.discard(event.turn_id)
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
            elif not self._draining:
                enqueue()
            elif self.inbox_kept:
                self._queued_turns.discard(turn_id)
                self._left_for_next_run.add(turn_id)
            else:
                log.warning("A message that came while a turn ran is not answered: we leave")
                self._queued_turns.discard(turn_id)

    def _let_go(self, event: MessageEvent) -> None:
        self._queued_turns.discard(event.turn_id)
        self._notices.start(self._dealt_with(event), name="dealt with")


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
        log.exception("An agent could not be told of a message")
        return False
    heard()
    return True
