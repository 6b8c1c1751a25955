"""Shutdown of a runner: turns are drained, then interrupted, then given up; all with time-outs."""

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any

from hermes_desktop import plugins
from hermes_desktop.gateway import status
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.runner.runner_admission import RunnerAdmission
from hermes_desktop.gateway.turns.agent_cache import PENDING
from hermes_desktop.gateway.turns.agent_preparation import close_agents

log = logging.getLogger(__name__)

POLLERS_S = 2.0
AFTER_DRAIN_S = 9.0
"""Time-out of everything after the drain. The program is killed a second later."""
_HOOK_S = plugins.SLOW_CALLBACK_S + 1.0
"""Time-out of a step that notifies plugins: a hanging hook is logged before the step ends."""


class RunnerStopping(RunnerAdmission):
    """Orderly shutdown. Everything on the event loop; times are those of the loop."""

    _leave_by = float("inf")

    def _set_bounds(
        self, drain_s: float, drain_until: float | None, deadline: float | None
    ) -> None:
        """Set the drain limit and the shutdown deadline. Later calls only shorten both."""
        now, clock_now = asyncio.get_running_loop().time(), self.clock.monotonic()
        drain_end = now + max(0.0, drain_s)
        if drain_until is not None:
            drain_end = min(drain_end, now + max(0.0, drain_until - clock_now))
        if self._drain_until is not None:
            drain_end = min(drain_end, self._drain_until)
        leave_by = drain_end + AFTER_DRAIN_S
        if deadline is not None:
            leave_by = min(leave_by, now + max(0.0, deadline - clock_now))
        self._drain_until = drain_end
        self._leave_by = min(self._leave_by, leave_by)
        self._drain_changed.set()

    def _left(self, usual_s: float) -> float:
        """Return the time-out of a step within the deadline."""
        left = self._leave_by - asyncio.get_running_loop().time()
        return max(0.05, min(usual_s, left))

    async def _leave(self) -> None:
        """Run the complete shutdown; see :meth:`GatewayRunner.stop`."""
        self._running = False
        self._draining = True
        self._restored.set()
        self._enter("stopping")
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting}, timeout=self._left(POLLERS_S))
        running = dict(self._running_agents)
        await self._watchers.cancel_all(timeout=self._left(POLLERS_S))
        in_order = await self._drain()
        self._leave_by = min(self._leave_by, asyncio.get_running_loop().time() + AFTER_DRAIN_S)
        if not in_order:
            in_order = await self._interrupt_turns()
        await self._give_up_turns()
        await self._end_background(self._left(2.0))
        await self._within(_HOOK_S, self._finalize_agents(running), "Plugins did not end")
        await self._notices.cancel_all(timeout=self._left(1.0))
        await self._within(1.0, self._close_mail(), "Owed replies were not left")
        await self._disconnect_platforms()
        self._shutdown_event.set()
        await self._write_end(in_order=in_order)
        await self._close_agents(running)
        self._waiting_turns.close()
        self._close_threads()
        self._enter("stopped")

    async def _within(self, usual_s: float, step: Coroutine[Any, Any, Any], words: str) -> None:
        """Await one step with a time-out; failures are logged and do not stop the shutdown.

        A step that cannot even be cancelled is abandoned.
        """
        try:
            await self._bounded.within(self._left(usual_s), step, doing=words)
        except TimeoutError:
            log.warning("%s in time", words)
        except Exception:  # the other steps must still run
            log.exception("%s in order", words)

    async def _drain(self) -> bool:
        """Let turns and background tasks finish; return whether all did."""
        loop = asyncio.get_running_loop()
        while self._under_way() and self._drain_until is not None:
            left = self._drain_until - loop.time()
            if left <= 0:
                return False
            self._drain_changed.clear()
            ended = asyncio.ensure_future(self._all_ended(left))
            changed = asyncio.ensure_future(self._drain_changed.wait())
            await asyncio.wait({ended, changed}, return_when=asyncio.FIRST_COMPLETED)
            for each in (ended, changed):
                each.cancel()
            await asyncio.wait({ended, changed})
        return True

    def _under_way(self) -> int:
        return len(self._message_tasks) + len(self._background_runs)

    async def _all_ended(self, timeout_s: float) -> None:
        await asyncio.gather(
            self._message_tasks.wait_all(timeout=timeout_s),
            self._background_runs.wait_all(timeout=timeout_s),
        )

    async def _interrupt_turns(self) -> bool:
        """Interrupt the running turns; return whether they ended."""
        for session_key in list(self._turns):
            self.interrupt(session_key, "gateway shutting down")
        for agent in self._running_agents.values():
            if agent is not PENDING:
                _interrupt(agent)
        return await self._message_tasks.wait_all(timeout=self._left(self.interrupt_grace_s))

    async def _give_up_turns(self) -> None:
        """Give up hung turns: their later results are discarded."""
        for session_key, record in self._turns.items():
            self._session_run_generation[session_key] = record.generation + 1
            record.given_up.set()
        await self._message_tasks.cancel_all(timeout=self._left(2.0))

    async def _finalize_agents(self, running: dict[str, Any]) -> None:
        """Notify plugins of the sessions that were running when the shutdown started."""
        for agent in running.values():
            session_id = getattr(agent, "session_id", None)
            if session_id is not None:
                await self.boundaries.invoke(
                    "on_session_finalize",
                    reason="shutdown",
                    session_id=session_id,
                    platform="gateway",
                )
                self._told_of.add(session_id)

    async def _disconnect_platforms(self) -> None:
        await asyncio.gather(*(self._disconnect(each) for each in self.adapters.values()))

    async def _disconnect(self, adapter: PlatformAdapter) -> None:
        words = f"{adapter.platform.value} was not left"
        await self._within(_HOOK_S, adapter.disconnect(), words)

    async def _write_end(self, *, in_order: bool) -> None:
        """Record the end of the run in the home and release the identity."""
        await self._off_loop(2.0, partial(self._note_end, in_order=in_order))
        await self._off_loop(2.5, lambda: status.remove_pid_file(self.identity))

    async def _off_loop(self, usual_s: float, call: Any) -> None:
        await self._within(
            usual_s, self._side_workers.run_within(self._left(usual_s), call), "A last step failed"
        )

    async def _close_agents(self, running: dict[str, Any]) -> None:
        with self._cache_guard():
            agents = [entry[0] for entry in self._agent_cache.values()]
            self._agent_cache.clear()
        agents += [each for each in running.values() if all(each is not one for one in agents)]
        entries = [(agent,) for agent in agents]
        await self._off_loop(self.interrupt_grace_s, lambda: close_agents(entries))

    def _update_runtime_status(self, gateway_state: str | None = None) -> None:
        """Publish the runner's status to other programs."""
        status.write_runtime_status(
            self.identity, gateway_state=gateway_state, active_agents=len(self._running_agents)
        )


def _interrupt(agent: Any) -> None:
    try:
        agent.interrupt()
    except Exception:  # a bug in one agent must not keep the others running
        log.exception("An agent could not be interrupted")
