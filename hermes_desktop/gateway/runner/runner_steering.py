"""Telling a running turn what its chat says meanwhile, so that nothing of it gets lost.

A message that was told stays undealt with until the agent has stored it behind a tool's result.
What no tool came for is answered next, as any other message.
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
    """Hints for running turns; on the loop."""

    def steer_turn(
        self, event: MessageEvent, source: SessionSource, adapter: PlatformAdapter
    ) -> bool:
        """Tell the running turn of a chat a message.

        Returns:
            False when it cannot be told: then the message is as if it had not been tried.
        """
        session_key = self.session_store._generate_session_key(source)  # noqa: SLF001 - see session
        record = self._turns.get(session_key)
        agent = self._running_agents.get(session_key)
        if record is None or record.stop_requested or record.answered or agent is PENDING:
            return False
        loop = asyncio.get_running_loop()

        def heard() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone: the next run asks again
                loop.call_soon_threadsafe(self._steer_heard, record, event)

        record.steered[event.turn_id] = partial(self._enqueue, event, source, adapter)
        self._queued_turns.add(event.turn_id)
        if _tell(agent, inbound_text(event, source, self.config), heard):
            return True
        del record.steered[event.turn_id]
        self._queued_turns.discard(event.turn_id)
        return False

    def _steer_heard(self, record: TurnRecord, event: MessageEvent) -> None:
        """A message is stored with what the model is told: it needs nothing more."""
        if record.steered.pop(event.turn_id, None) is not None:
            self._let_go(event)

    def _answer_unheard(self, record: TurnRecord) -> None:
        """The turn is over: what it was not told any more is answered next."""
        unheard, record.steered = record.steered, {}
        for turn_id, enqueue in unheard.items():
            event: MessageEvent = enqueue.args[0]
            if record.unwanted:  # /stop drops what waits
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
    """Tell a running agent of a message; False when it cannot be told."""
    steer = getattr(agent, "steer", None)
    if steer is None:
        return False
    try:
        if getattr(agent, "says_what_it_heard", False):
            return bool(steer(text, heard))
        if not steer(text):
            return False
    except Exception:  # a bug of an agent; the message waits instead
        log.exception("An agent could not be told of a message")
        return False
    heard()
    return True
