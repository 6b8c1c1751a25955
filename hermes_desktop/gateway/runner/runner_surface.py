"""Operations of a runner for commands and the host. Everything here runs on the event loop."""

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


class RunnerOperations(RunnerThinking):
    """Stopping, queueing and querying turns."""

    async def _aside(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await a blocking call that is not part of a turn.

        Raises:
            RefusedError: The runner has stopped.
        """
        try:
            future = self._side_workers.submit(call, *args, **kwargs)
        except RuntimeError:
            raise closing() from None
        return await asyncio.wrap_future(future)

    def use_config(self, config: GatewayConfig) -> None:
        """Use other settings from now on.

        A running turn keeps the values that it read when it started.
        """
        self.config = config
        self.session_store.config = config
        if self.access is not None:
            self.access.use(config)

    def is_busy(self, session_key: str) -> bool:
        """Return whether a turn of a chat runs or waits."""
        return session_key in self._running_agents or bool(self._queued_events.get(session_key))

    def running_since(self, session_key: str) -> float | None:
        """Return the epoch seconds at which the chat's running turn started; None: none runs."""
        return self._running_agents_ts.get(session_key)

    def running_turn(self, session_key: str) -> TurnRecord | None:
        """Return the record of the running turn of a chat."""
        return self._turns.get(session_key)

    def turn_source(self, session_key: str) -> SessionSource | None:
        """Return the source of the message that is being answered in a chat. Any thread."""
        record = self._turns.get(session_key)
        return record.source if record is not None else None

    def evict_agent(self, session_key: str) -> None:
        """Evict the cached agent of a chat: its next turn reads the session again."""
        self._evict_cached_agent(session_key)

    def interrupt(self, session_key: str, reason: str | None = None) -> bool:
        """Ask the running turn of a chat to end; return False when there is none.

        What waits behind it is answered next. The reason is only logged: it is never treated as a
        message of the user.
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
        :attr:`interrupt_grace_s` is given up: its later results are discarded. The cached agent is
        evicted, so that a late interruption does not end the next turn.

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
        """End a running turn for good; its chat is free immediately."""
        record.unwanted = True
        self.interrupt(record.session_key, reason)
        self._disown(record)
        self._evict_cached_agent(record.session_key)
        await self._leave_behind(record)

    def _is_current(self, record: TurnRecord) -> bool:
        return self._session_run_generation.get(record.session_key) == record.generation

    def _disown(self, record: TurnRecord) -> None:
        """Discard the later results of a turn and free its chat."""
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
        """End the waiting turns of a chat without a reply; return their number."""
        waiting = self._queued_events.pop(session_key, [])
        for record in waiting:
            record.unwanted = True
            record.request_stop()
        return len(waiting)

    def _release_running_agent_state(self, session_key: str, generation: int | None = None) -> None:
        """Free a chat; with a generation, only if its current turn is of that one."""
        record = self._turns.get(session_key)
        if generation is not None and (record is None or record.generation != generation):
            return
        self._turns.pop(session_key, None)
        self._running_agents.pop(session_key, None)
        self._running_agents_ts.pop(session_key, None)
        self._announce()

    def refuse_turns(self, why: HermesError | None) -> None:
        """Start no more turns and answer messages with an error; None accepts messages again.

        Running turns continue, and commands are still executed.
        """
        self._refusing = why
        self._announce()

    def tell(self) -> None:
        """Announce the status again, because that of the platforms changed."""
        self._announce()

    def hurry(self) -> None:
        """Interrupt the turns that a pending stop waits for; a no-op without a pending stop."""
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
