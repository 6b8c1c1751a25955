"""Queries, supervision and ending of turns, for the other parts, commands and the host."""

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable

from hermes_desktop.core.clock import Clock
from hermes_desktop.gateway.config.config_running import RunningSettings
from hermes_desktop.gateway.runner.agents import AgentCache
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.state import RunnerState, RunnerStatus
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.agent_cache import PENDING
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)


class Step(enum.Enum):
    """The step that is due for a long turn."""

    NEWS = "news"
    """Notify the chat that work continues."""
    WARNING = "warning"
    """Notify the chat that nothing has happened for long."""
    TIMEOUT = "timeout"
    """End the turn."""


class TurnWatch:
    """Schedule of the steps of a long turn. Times are monotonic seconds.

    Progress notices come after the configured time, then after twice, four times, … as long, so
    that an hour's work does not fill the chat.

    Args:
        record: The turn.
        settings: The time-outs; 0 switches a step off.
    """

    def __init__(self, record: TurnRecord, settings: RunningSettings) -> None:
        self._record = record
        self._settings = settings
        self._news_after = settings.notify_interval_s
        self._warned_of = -1.0

    def next(self) -> tuple[float, Step] | None:
        """Return the time and kind of the next step, as of now; None when there is none."""
        record, settings = self._record, self._settings
        steps: list[tuple[float, Step]] = []
        if settings.agent_timeout_s > 0:
            steps.append((record.seen_at + settings.agent_timeout_s, Step.TIMEOUT))
        if settings.agent_timeout_warning_s > 0 and self._warned_of != record.active_at:
            steps.append((record.seen_at + settings.agent_timeout_warning_s, Step.WARNING))
        if self._news_after > 0:
            steps.append((record.began_at + self._news_after, Step.NEWS))
        return min(steps, key=lambda step: step[0], default=None)

    def take(self, now: float) -> Step | None:
        """Return the step that is due now, once; None when none is."""
        due = self.next()
        if due is None or due[0] > now:
            return None
        if due[1] is Step.WARNING:
            self._warned_of = self._record.active_at
        elif due[1] is Step.NEWS:
            self._news_after *= 2
        return due[1]

    def words(self, step: Step, now: float) -> str:
        """Return the message of a step for the chat."""
        if step is Step.NEWS and self._record.waits:
            return f"I am still waiting for your answer ({_duration(now - self._record.began_at)})."
        if step is Step.NEWS:
            return f"I am still working on it ({_duration(now - self._record.began_at)})."
        silence = _duration(now - self._record.active_at)
        left = self._settings.agent_timeout_s - (now - self._record.active_at)
        end = f" I will stop in {_duration(left)}." if self._settings.agent_timeout_s > 0 else ""
        return f"There has been no activity for {silence}.{end} To stop now, send /stop."


async def watch(
    watched: TurnWatch,
    clock: Clock,
    tell: Callable[[str], Awaitable[None]],
    end: Callable[[], Awaitable[None]],
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Watch a turn until cancelled or until nothing is due any more.

    Args:
        watched: The turn.
        clock: The time source.
        tell: Sends its chat a message.
        end: Ends it.
        pause: Waits for the given number of seconds.
    """
    while (due := watched.next()) is not None:
        now = clock.monotonic()
        if due[0] > now:
            await pause(due[0] - now)
            continue
        step = watched.take(now)
        if step is Step.TIMEOUT:
            await end()
            return
        if step is not None:
            await tell(watched.words(step, now))


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes else f"{max(1, round(seconds))} s"


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
        """End the running turn of a chat, and drop the messages that wait behind it.

        Nothing of it is delivered any more. A turn that does not end within
        :attr:`RunnerState.interrupt_grace_s` is abandoned: its later results are discarded. The
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
        """End a running turn; its chat is free immediately."""
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
