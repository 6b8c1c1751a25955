"""Queries, interruption and ending of turns, for the other parts, commands and the host."""

import asyncio
import logging

from hermes_desktop.gateway.runner.agents import AgentCache
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.state import RunnerState, RunnerStatus
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.agent_cache import PENDING
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)

STOP_REQUESTED = "stop requested"
RESET_REQUESTED = "session reset requested"


class TurnControl:
    """Queries, interrupts and ends the turns of chats. On the event loop."""

    def __init__(
        self,
        state: RunnerState,
        chats: Chats,
        status: RunnerStatus,
        agents: AgentCache,
    ) -> None:
        self._state = state
        self._chats = chats
        self._status = status
        self._agents = agents

    def turn_source(self, session_key: str) -> SessionSource | None:
        """Return the source of what runs in a chat, a turn or a background task. Any thread."""
        turn = self._chats.peek(session_key).turn
        if turn is not None and turn.source is not None:
            return turn.source
        tasks = tuple(self._state.tasks.values())
        return next((each.source for each in tasks if each.session_key == session_key), None)

    def interrupt(self, session_key: str, reason: str | None = None) -> bool:
        """Ask the running turn of a chat to end; return False when there is none.

        What waits behind it is answered next. The reason is only logged: it is never treated as a
        message of the user.
        """
        chat = self._chats.peek(session_key)
        if chat.long_command is not None:
            chat.long_command.set()
            return True
        if chat.turn is None:
            return False
        chat.turn.request_stop()
        if chat.agent is not None and chat.agent is not PENDING:
            chat.agent.interrupt(reason)
        return True

    async def stop_turn(self, session_key: str, *, reason: str = STOP_REQUESTED) -> bool:
        """End the running turn of a chat for good, and drop what waits behind it.

        Nothing of it is delivered any more. A turn that does not end within
        :attr:`RunnerState.interrupt_grace_s` is given up: its later results are discarded. The
        cached agent is evicted, so that a late interruption does not end the next turn.

        Returns:
            Whether anything ran or waited.
        """
        waiting = self._drop_waiting(session_key)
        record = self._chats.peek(session_key).turn
        if record is None:
            self._agents.evict(session_key)
            return waiting > 0
        await self.stop_running(record, reason)
        return True

    async def stop_running(self, record: TurnRecord, reason: str) -> None:
        """End a running turn for good; its chat is free immediately."""
        record.unwanted = True
        self.interrupt(record.session_key, reason)
        self.disown(record)
        self.release(record.session_key)
        self._agents.evict(record.session_key)
        await self.leave_behind(record)

    def is_current(self, record: TurnRecord) -> bool:
        """Return whether a turn still has its claim, so that its results count."""
        return self._chats.peek(record.session_key).generation == record.generation

    def disown(self, record: TurnRecord) -> None:
        """Discard the later results of a turn."""
        self._chats[record.session_key].generation = record.generation + 1

    async def leave_behind(self, record: TurnRecord) -> None:
        """Wait for an interrupted turn to end, then give it up."""
        try:
            await asyncio.wait_for(record.over.wait(), self._state.interrupt_grace_s)
        except TimeoutError:
            log.warning("The turn of %s did not end and is left behind", record.session_key)
            record.given_up.set()
            await record.over.wait()

    def _drop_waiting(self, session_key: str) -> int:
        """End the waiting turns of a chat without a reply; return their number."""
        chat = self._chats.peek(session_key)
        waiting, chat.waiting = chat.waiting, []
        for record in waiting:
            record.unwanted = True
            record.request_stop()
        return len(waiting)

    def release(self, session_key: str, generation: int | None = None) -> None:
        """Free a chat; with a generation, only if its current turn is of that one."""
        chat = self._chats.peek(session_key)
        if generation is not None and (chat.turn is None or chat.turn.generation != generation):
            return
        chat.turn = chat.agent = chat.running_since = None
        self._status.report()
