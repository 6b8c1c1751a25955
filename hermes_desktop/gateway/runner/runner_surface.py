"""What commands and the host may ask of a runner. Everything here belongs to the loop."""

import asyncio
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.access.refusals import closing
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.gateway.runner.runner_state import Phase
from hermes_desktop.gateway.runner.runner_thinking import RunnerThinking
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.agent_cache import PENDING
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

STOP_REQUESTED = "stop requested"
RESET_REQUESTED = "session reset requested"


class RunnerSurface(RunnerThinking):
    """Stopping, queueing and asking about turns."""

    async def _aside(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await a blocking call that is no part of a turn.

        Raises:
            RefusedError: We have left.
        """
        try:
            future = self._side_workers.submit(call, *args, **kwargs)
        except RuntimeError:
            raise closing() from None
        return await asyncio.wrap_future(future)

    def use_config(self, config: GatewayConfig) -> None:
        """Take other settings; whoever looks one up from now on finds the new one.

        A turn that runs keeps what it looked up at its begin.
        """
        self.config = config
        self.session_store.config = config
        if self.access is not None:
            self.access.use(config)

    def is_busy(self, session_key: str) -> bool:
        """Whether a turn of a chat runs or waits."""
        return session_key in self._running_agents or bool(self._queued_events.get(session_key))

    def running_since(self, session_key: str) -> float | None:
        """When the running turn of a chat began, in seconds since the epoch; None: none runs."""
        return self._running_agents_ts.get(session_key)

    def running_turn(self, session_key: str) -> TurnRecord | None:
        """What is known of the running turn of a chat."""
        return self._turns.get(session_key)

    def turn_source(self, session_key: str) -> SessionSource | None:
        """Where the message came from that is being answered in a chat. Any thread."""
        record = self._turns.get(session_key)
        return record.source if record is not None else None

    def evict_agent(self, session_key: str) -> None:
        """Let the kept agent of a chat go: its next turn reads the conversation anew."""
        self._evict_cached_agent(session_key)

    def interrupt(self, session_key: str, reason: str | None = None) -> bool:
        """Ask the running turn of a chat to end; False when there is none.

        What waits behind it is answered next. The reason is for the log alone: it is never taken
        for something that a person said.
        """
        if (command := self._long_commands.get(session_key)) is not None:
            command.set()
            return True
        record = self._turns.get(session_key)
        if record is None:
            return False
        record.request_stop()
        agent = self._running_agents.get(session_key)
        if agent is not None and agent is not PENDING:
            agent.interrupt(reason)
        return True

    async def stop_turn(self, session_key: str, *, reason: str = STOP_REQUESTED) -> bool:
        """End the running turn of a chat for good, and drop what waits behind it.

        Nothing of it is delivered any more. A turn that does not end within
        :attr:`interrupt_grace_s` is left behind: what it still brings is nobody's. The kept agent
        goes, so that an interruption that comes late does not end the next turn.

        Returns:
            Whether anything ran or waited.
        """
        waiting = self._drop_waiting(session_key)
        record = self._turns.get(session_key)
        if record is None:
            self._evict_cached_agent(session_key)
            return waiting > 0
        await self._stop_running(record, reason)
        return True

    async def _stop_running(self, record: TurnRecord, reason: str) -> None:
        """End a running turn for good; its chat is free at once."""
        record.unwanted = True
        self.interrupt(record.session_key, reason)
        self._disown(record)
        self._evict_cached_agent(record.session_key)
        await self._leave_behind(record)

    def _is_current(self, record: TurnRecord) -> bool:
        return self._session_run_generation.get(record.session_key) == record.generation

    def _disown(self, record: TurnRecord) -> None:
        """Let nothing that a turn still brings count, and its chat be free."""
        self._session_run_generation[record.session_key] = record.generation + 1
        self._release_running_agent_state(record.session_key)

    async def _leave_behind(self, record: TurnRecord) -> None:
        """Wait for an interrupted turn to end, then give it up."""
        try:
            await asyncio.wait_for(record.over.wait(), self.interrupt_grace_s)
        except TimeoutError:
            log.warning("The turn of %s did not end and is left behind", record.session_key)
            record.given_up.set()
            await record.over.wait()

    def _drop_waiting(self, session_key: str) -> int:
        """Let what waits in a chat end without an answer; how many messages that were."""
        waiting = self._queued_events.pop(session_key, [])
        for record in waiting:
            record.unwanted = True
            record.request_stop()
        return len(waiting)

    def _release_running_agent_state(self, session_key: str, generation: int | None = None) -> None:
        """Let a chat be free; with a generation, only if its present turn is of that one."""
        record = self._turns.get(session_key)
        if generation is not None and (record is None or record.generation != generation):
            return
        self._turns.pop(session_key, None)
        self._running_agents.pop(session_key, None)
        self._running_agents_ts.pop(session_key, None)
        self._announce()

    def refuse_turns(self, why: HermesError | None) -> None:
        """Begin no more turns and answer messages with that; None takes messages again.

        Running turns go on, and commands are still obeyed.
        """
        self._refusing = why
        self._announce()

    def tell(self) -> None:
        """Say anew how we are doing, because the platforms do otherwise."""
        self._announce()

    def hurry(self) -> None:
        """Interrupt, now, the turns that a stop waits for; without one nothing happens."""
        if self._stop_task is None:
            return
        self._drain_until = float("-inf")
        self._drain_changed.set()

    def _update_runtime_status(self, gateway_state: str | None = None) -> None:
        raise NotImplementedError

    def _is_user_authorized(self, source: SessionSource | None) -> bool:
        raise NotImplementedError

    def _enter(self, phase: Phase) -> None:
        raise NotImplementedError

    def _announce(self) -> None:
        raise NotImplementedError
