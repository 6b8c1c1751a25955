"""Start and shutdown of a runner: turns are drained, then interrupted, then abandoned."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from hermes_desktop import plugins
from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway import status as status_files
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.runner.admission import Admission
from hermes_desktop.gateway.runner.background import BackgroundWork
from hermes_desktop.gateway.runner.core_parts import CoreParts
from hermes_desktop.gateway.runner.execution import TurnParts
from hermes_desktop.gateway.runner.housekeeping import Housekeeping, supervised
from hermes_desktop.gateway.runner.recovery import Recovery
from hermes_desktop.gateway.runner.state import SIDE_THREADS
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.agent_cache import PENDING, close_agents

log = logging.getLogger(__name__)

POLLERS_S = 2.0
AFTER_DRAIN_S = 9.0
"""Time-out of everything after the drain. The program is killed a second later."""
_HOOK_S = plugins.SLOW_CALLBACK_S + 1.0
"""Time-out of a step that notifies plugins: a hanging hook is logged before the step ends."""


class LifeCycle:
    """Starts and stops a runner. On the event loop, whose clock measures the time-outs.

    Args:
        watch_expiry: Processes expired sessions for as long as the runner runs.
    """

    def __init__(  # noqa: PLR0913 - the parts that it starts and stops
        self,
        core: CoreParts,
        turns: TurnParts,
        recovery: Recovery,
        background: BackgroundWork,
        admission: Admission,
        housekeeping: Housekeeping,
        *,
        watch_expiry: Callable[[], Awaitable[None]],
    ) -> None:
        self._state = core.state
        self._chats = core.chats
        self._status = core.status
        self._control = core.control
        self._agents = core.agents
        self._hook_calls = core.hook_calls
        self._incoming = core.incoming
        self._streams = core.streams
        self._boundaries = turns.boundaries
        self._claims = turns.claims
        self._marks = turns.marks
        self._recovery = recovery
        self._background = background
        self._admission = admission
        self._housekeeping = housekeeping
        self._watch_expiry = watch_expiry
        self._starting: asyncio.Task[None] | None = None
        self._drain_until: float | None = None
        self._stop_by = float("inf")
        self._drain_changed = asyncio.Event()

    # Start

    async def start(self) -> None:
        """Connect every platform, resume what a restart interrupted, start the housekeeping.

        A platform that cannot be connected is logged and left out. Only a runner with a home
        resumes chats and does full housekeeping. A concurrent :meth:`stop` ends this, too.
        """
        state = self._state
        state.accept_turns()
        state.stop_task = self._drain_until = None
        state.restart_requested = False
        self._stop_by = float("inf")
        state.finalized.clear()
        self._hook_calls.open()
        state.side_workers = WorkerThreads("gateway-side", size=SIDE_THREADS)
        self._claims.slots.watch(state.rooms)
        self._status.enter("starting")
        self._starting = asyncio.get_running_loop().create_task(self._begin_work(), name="begin")
        try:
            await asyncio.shield(self._starting)
        except asyncio.CancelledError:
            if not state.draining:
                self._starting.cancel()
                raise
            log.info("The start was overtaken by a stop")

    async def _begin_work(self) -> None:
        await self._recovery.look_back()
        await self._incoming.look_back()
        await self._connect_platforms()
        if self._state.draining:
            return
        self._state.running = True
        self._status.enter("running")
        if self._state.adapters:  # otherwise it is reported when adapters are added
            await self.announce_startup()
        await self._recovery.resume()
        if self._state.mail is not None:
            self._watch("settled mail", self._incoming.keep_tidy)
            for platform in list(self._state.adapters):
                name = f"after connecting {platform.value}"
                self._state.notices.start(self.platform_connected(platform), name=name)
        await self._background.report_interrupted()
        if self._state.home is not None:
            self._watch("expired sessions", self._watch_expiry)
        else:
            self._watch("unused agents", self._housekeeping.evict_unused_agents)

    async def announce_startup(self) -> None:
        """Notify event hooks that the gateway runs, and which platforms it serves."""
        names = sorted(platform.value for platform in self._state.adapters)
        await self._hook_calls.emit("gateway:startup", None, platforms=names)

    async def _connect_platforms(self) -> None:
        for adapter in self._state.adapters.values():
            adapter.set_message_handler(self._admission.accept)
            adapter.set_interrupt_handler(self._control.interrupt)
            adapter.set_closing_handler(partial(self._boundaries.closed, adapter.platform))
            try:
                connected = await adapter.connect()
            except Exception:  # one platform's failure must not affect the others
                log.exception("Connecting %s failed", adapter.platform.value)
                connected = False
            if not connected:
                log.warning("%s is not connected", adapter.platform.value)

    async def platform_connected(self, platform: Platform) -> None:
        """Process what waited for a platform: owed replies, interrupted chats, old messages."""
        with suppress(HermesError, RuntimeError):  # the runner stops
            await self._streams.delete_unfinished(platform)
        if self._state.mail is not None:  # may take long and is not awaited
            owed = self._state.mail.deliverer.redeliver(platform)
            self._state.notices.start(owed, name=f"owed replies of {platform.value}")
        try:
            await self._recovery.resume_chats(platform)
        except HermesError as error:
            log.warning("Chats of %s cannot be resumed: %s", platform.value, error)
        finally:
            self._admission.replay(platform)
            self._incoming.platform_is_ready(platform)

    def _watch(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run background work as long as the gateway runs; see :func:`supervised`."""
        self._state.watchers.start(supervised(name, work, self._state.clock), name=name)

    # Stop and restart

    def stop(
        self,
        drain_s: float | None,
        drain_until: float | None,
        deadline: float | None,
        *,
        restart: bool,
    ) -> Coroutine[Any, Any, None]:
        """Begin the shutdown and return an awaitable for its end; see :meth:`GatewayRunner.stop`.

        No further turn begins from the moment of this call.
        """
        state = self._state
        if drain_s is None:
            drain_s = state.restart_drain_timeout
        if drain_s is None:
            drain_s = state.config.running.restart_drain_timeout_s
        self._set_bounds(drain_s, drain_until, deadline)
        if state.stop_task is None:
            state.refuse_new_turns()
            state.restart_requested = state.restart_requested or restart
            state.stop_task = asyncio.get_running_loop().create_task(self._shut_down(), name="stop")
        return _end_of(state.stop_task)

    def hurry(self) -> None:
        """Interrupt the turns that a pending stop waits for; a no-op without a pending stop."""
        if self._state.stop_task is None:
            return
        self._drain_until = float("-inf")
        self._drain_changed.set()

    async def request_restart(self, requested_by: SessionSource | None) -> bool:
        """Request a restart; see :meth:`GatewayRunner.request_restart`."""
        if self._state.restart_handler is None:
            return False
        if requested_by is not None:
            await self._recovery.store_notice_chat(requested_by)
        self._state.restart_requested = True
        asyncio.get_running_loop().call_soon(self._state.restart_handler)
        return True

    def _set_bounds(
        self, drain_s: float, drain_until: float | None, deadline: float | None
    ) -> None:
        """Set the drain limit and the shutdown deadline. Later calls only shorten both."""
        now, clock_now = asyncio.get_running_loop().time(), self._state.clock.monotonic()
        drain_end = now + max(0.0, drain_s)
        if drain_until is not None:
            drain_end = min(drain_end, now + max(0.0, drain_until - clock_now))
        if self._drain_until is not None:
            drain_end = min(drain_end, self._drain_until)
        stop_by = drain_end + AFTER_DRAIN_S
        if deadline is not None:
            stop_by = min(stop_by, now + max(0.0, deadline - clock_now))
        self._drain_until = drain_end
        self._stop_by = min(self._stop_by, stop_by)
        self._drain_changed.set()

    def _left(self, usual_s: float) -> float:
        """Return the time-out of a step within the deadline."""
        left = self._stop_by - asyncio.get_running_loop().time()
        return max(0.05, min(usual_s, left))

    async def _shut_down(self) -> None:
        """Run the complete shutdown; see :meth:`GatewayRunner.stop`."""
        state = self._state
        state.restored.set()
        self._status.enter("stopping")
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting}, timeout=self._left(POLLERS_S))
        running = dict(self._chats.agents)
        await state.watchers.cancel_all(timeout=self._left(POLLERS_S))
        in_order = await self._drain()
        self._stop_by = min(self._stop_by, asyncio.get_running_loop().time() + AFTER_DRAIN_S)
        if not in_order:
            in_order = await self._interrupt_turns()
        await self._give_up_turns()
        await self._background.end(self._left(2.0))
        await self._within(_HOOK_S, self._finalize_agents(running), "The hooks of plugins")
        await state.notices.cancel_all(timeout=self._left(1.0))
        await self._within(1.0, self._close_mail(), "Closing the outbox")
        await self._disconnect_platforms()
        state.shutdown_event.set()
        await self._off_loop(2.0, partial(self._marks.note_end, in_order=in_order))
        await self._off_loop(2.5, lambda: status_files.remove_pid_file(state.identity))
        entries = self._agents.take_all(running.values())
        await self._off_loop(state.interrupt_grace_s, lambda: close_agents(entries))
        self._claims.slots.close()
        self._hook_calls.close()
        state.side_workers.close()
        self._status.enter("stopped")

    async def _within(self, usual_s: float, step: Coroutine[Any, Any, Any], name: str) -> None:
        """Await one step with a time-out; failures are logged and do not stop the shutdown.

        A step that cannot even be cancelled is abandoned.
        """
        try:
            await self._state.bounded.within(self._left(usual_s), step, doing=name)
        except TimeoutError:
            log.warning("%s did not end in time", name)
        except Exception:  # the other steps must still run
            log.exception("%s failed", name)

    async def _off_loop(self, usual_s: float, call: Callable[[], object]) -> None:
        """Await a blocking step with a time-out; failures are logged."""
        step = self._state.side_workers.run_within(self._left(usual_s), call)
        await self._within(usual_s, step, "A step of the shutdown")

    async def _drain(self) -> bool:
        """Let turns and background tasks finish; return whether all did."""
        loop = asyncio.get_running_loop()
        while any(map(len, self._tasks())) and self._drain_until is not None:
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

    async def _all_ended(self, timeout_s: float) -> None:
        await asyncio.gather(*(each.wait_all(timeout=timeout_s) for each in self._tasks()))

    def _tasks(self) -> tuple[TaskSet, ...]:
        state = self._state
        return (state.message_tasks, state.late_messages, state.background_runs)

    async def _interrupt_turns(self) -> bool:
        """Interrupt the running turns; return whether they ended."""
        for session_key in self._chats.turns:
            self._control.interrupt(session_key, "gateway shutting down")
        for agent in self._chats.agents.values():
            if agent is not PENDING:
                _interrupt(agent)
        timeout = self._left(self._state.interrupt_grace_s)
        ended = await asyncio.gather(
            self._state.message_tasks.wait_all(timeout=timeout),
            self._state.late_messages.wait_all(timeout=timeout),
        )
        return all(ended)

    async def _give_up_turns(self) -> None:
        """Abandon hung turns: their later results are discarded."""
        for record in self._chats.turns.values():
            self._control.disown(record)
            record.given_up.set()
        await asyncio.gather(
            self._state.message_tasks.cancel_all(timeout=self._left(2.0)),
            self._state.late_messages.cancel_all(timeout=self._left(2.0)),
        )

    async def _finalize_agents(self, running: dict[str, Any]) -> None:
        """Notify plugins of the sessions that were running when the shutdown started."""
        for agent in running.values():
            session_id = getattr(agent, "session_id", None)
            if session_id is not None:
                await self._hook_calls.finalize(session_id, "gateway", "shutdown")
                self._state.finalized.add(session_id)

    async def _close_mail(self) -> None:
        if self._state.mail is not None:
            await self._state.mail.deliverer.close()
        self._incoming.close()

    async def _disconnect_platforms(self) -> None:
        await asyncio.gather(*(self._disconnect(each) for each in self._state.adapters.values()))

    async def _disconnect(self, adapter: PlatformAdapter) -> None:
        name = f"Disconnecting {adapter.platform.value}"
        await self._within(_HOOK_S, adapter.disconnect(), name)


async def _end_of(stop_task: "asyncio.Task[None]") -> None:
    await asyncio.shield(stop_task)


def _interrupt(agent: Any) -> None:
    try:
        agent.interrupt()
    except Exception:  # a bug in one agent must not keep the others running
        log.exception("An agent could not be interrupted")
