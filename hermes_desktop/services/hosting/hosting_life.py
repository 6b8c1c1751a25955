"""Lifecycle of the hosted gateway: check, claim, host, end, and repeat on a restart."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.periodic_look import PollingThread
from hermes_desktop.core.errors import BusyError, StateError
from hermes_desktop.core.events import HostingRefusal
from hermes_desktop.gateway.config.config_loading import LoadedGatewayConfig
from hermes_desktop.gateway.identity.identity_supervisor import RESTART_PAUSE_S
from hermes_desktop.gateway.runtime_files.identity_events import (
    ClaimAnswer,
    Claimed,
    ForeignGateway,
    NotHere,
)
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord
from hermes_desktop.services.hosting.hosted_gateway import HostedGateway
from hermes_desktop.services.hosting.hosting_ending import Ending, StopRequests
from hermes_desktop.services.hosting.hosting_identity import HostingIdentity
from hermes_desktop.services.hosting.hosting_outlook import StartCheckResult, StartChecks
from hermes_desktop.services.hosting.hosting_status import StatusBoard
from hermes_desktop.services.hosting.hosting_words import (
    failure_refusal,
    other_gateway,
    refusal_for,
    unknown_holder_refusal,
    waiting_words,
)

log = logging.getLogger(__name__)

_TICK_S = 1.0
_LOOK_S = 2.0
_DRAIN_S = 15.0
_MARGIN_S = 0.3
"""Seconds before the deadline at which the home is released, because the release takes a moment."""
_FINISH_S = 20.0
_CANCEL_S = 5.0


@dataclass(frozen=True, slots=True)
class LifecycleDependencies:
    """The dependencies of a lifecycle.

    Attributes:
        make_hosted: Builds a gateway from freshly read settings.
        tell_settings: Receives the warnings about those settings, empty if there are none.
    """

    board: StatusBoard
    identity: HostingIdentity
    outlook: StartChecks
    worker: WorkerThreads
    clock: Clock
    make_hosted: Callable[[LoadedGatewayConfig, GatewayRecord], HostedGateway]
    tell_settings: Callable[[tuple[str, ...]], None]


class HostingLifecycle:
    """One lifecycle, run as one task; other code only requests its end. For one event loop.

    Args:
        parts: The dependencies.
        insist: Whether the user confirmed the start despite an objection.
        take_over: Ask another gateway to stop first.
    """

    def __init__(
        self, parts: LifecycleDependencies, *, insist: bool, take_over: bool = False
    ) -> None:
        self._parts = parts
        self._board = parts.board
        self._insist = insist
        self._take_over = take_over
        self._wish = StopRequests()
        self._settled = asyncio.Event()
        self._hosted: HostedGateway | None = None
        self._failure: Exception | None = None
        self._not_ours: HostingRefusal | None = None

    @property
    def hosted(self) -> HostedGateway | None:
        """The hosted gateway, from its start until it is left."""
        return self._hosted

    @property
    def ending(self) -> Ending | None:
        """The request to end it so far; None if there is none."""
        return self._wish.ending

    @property
    def is_ending(self) -> bool:
        """Whether it is about to end without a restart."""
        return self._wish.ending is not None and not self._wish.ending.comes_back

    def end(self, ending: Ending) -> None:
        """Request its end, or a quicker one."""
        self._wish.add(ending)
        if ending.comes_back:
            self._settled.clear()
        if self._take_over:
            self._parts.identity.give_up_take_over()

    async def settled(self) -> None:
        """Wait until the gateway runs or the lifecycle has ended."""
        await self._settled.wait()

    async def run(self) -> None:
        """Run the lifecycle. Raises only on bugs, and releases everything even then."""
        try:
            found = await self._begin()
            while found is not None:
                ending = await self._host(*found)
                found = await self._again() if ending.comes_back else None
                if found is None and self._board.stage != "idle":
                    self._end_idle()
        finally:
            if self._board.stage != "idle":
                self._board.enter("idle", "The gateway stopped because of an error.")
            self._settled.set()

    def _end_idle(self) -> None:
        """Report why hosting ended; failures are shown as refusals because the user has to act."""
        if self._not_ours is not None:
            self._board.refuse(self._not_ours)
        elif self._failure is not None:
            self._board.refuse(failure_refusal(self._failure))
        else:
            ending = self._wish.now()
            self._board.enter("idle", ending.words, offers_start=ending.stopped_from_outside)

    # Claiming

    async def _begin(self) -> tuple[GatewayRecord, StartCheckResult] | None:
        self._board.enter("idle" if self._take_over else "starting", "Reading the settings.")
        outlook = await self._parts.worker.run(self._parts.outlook.look)
        if not self._is_acceptable(outlook):
            return None
        if self._take_over:
            answer = await self._parts.identity.take_over(
                insist=self._insist, progress=self._board.explain
            )
        else:
            answer = await self._parts.identity.claim(insist=self._insist)
        return await self._claimed(answer, outlook)

    def _is_acceptable(self, outlook: StartCheckResult) -> bool:
        if outlook.other is not None and not self._take_over:
            self._attach(outlook.other)
            return False
        refusal = outlook.refusal
        if refusal is None or (self._insist and refusal.may_insist):
            return True
        self._board.refuse(refusal)
        return False

    async def _claimed(
        self, answer: ClaimAnswer, outlook: StartCheckResult
    ) -> tuple[GatewayRecord, StartCheckResult] | None:
        """Continue with a claim, unless an end has been requested."""
        if isinstance(answer, Claimed):
            if self._wish.ending is None:
                return answer.record, outlook
            await self._give_back(stopped=True)
            if not self.is_ending:  # a restart was requested before there was anything to restart
                return await self._again()
            self._board.enter("idle", self._wish.now().words)
        elif isinstance(answer, NotHere):
            self._board.refuse(refusal_for(answer))
        else:
            self._attach(answer.gateway)
        return None

    def _attach(self, gateway: ForeignGateway | None) -> None:
        if gateway is None:
            self._board.refuse(unknown_holder_refusal())
        else:
            self._board.enter("idle")
            self._board.note_other(other_gateway(gateway, self._parts.clock))

    async def _again(self) -> tuple[GatewayRecord, StartCheckResult] | None:
        """Claim again after a restart, with freshly read settings."""
        self._board.enter("starting", "Restarting.")
        self._wish = StopRequests()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RESTART_PAUSE_S):
                await self._wish.asked()
        if self._wish.ending is not None:
            return None
        outlook = await self._parts.worker.run(self._parts.outlook.look)
        if outlook.refusal is not None and not outlook.refusal.may_insist:
            self._board.refuse(outlook.refusal)
            return None
        answer = await self._parts.identity.claim(insist=True)
        return await self._claimed(answer, outlook)

    # Hosting

    async def _host(self, record: GatewayRecord, outlook: StartCheckResult) -> Ending:
        self._board.enter("starting", "Connecting the platforms.")
        self._parts.tell_settings(outlook.loaded.warnings)
        watch = PollingThread(
            "home-watch", self._look_at_home, self._lose_home, first=None, every_s=_LOOK_S
        )
        watch.start()
        try:
            self._hosted = hosted = self._parts.make_hosted(outlook.loaded, record)
            if await self._unless_ending(hosted.start()):
                self._board.enter("hosting")
                self._settled.set()
            await self._wish.asked()
        except Exception as error:
            log.exception("The gateway failed")
            self._failure = error
            self._wish.add(Ending("failed", self._now()))
        finally:
            watch.stop()
        await self._leave()
        return self._wish.now()

    def _look_at_home(self) -> HostingRefusal | None:
        """Return why the home may no longer be hosted here, or None. Blocking; any thread."""
        try:
            return self._parts.outlook.not_ours()
        except (StateError, BusyError):
            return None  # the next check may succeed

    def _lose_home(self, refusal: HostingRefusal | None) -> None:
        """Request the end: the home became one that only another program may write to."""
        if refusal is None or self._not_ours is not None:
            return
        self._not_ours = refusal
        log.warning("The gateway ends: %s", refusal.detail)
        drain_until = self._now() + _DRAIN_S
        self._wish.add(Ending("not_ours", drain_until, words=refusal.title))

    async def _unless_ending(self, starting: Awaitable[None]) -> bool:
        """Start the gateway. Returns whether it runs and no end has been requested."""
        start = asyncio.ensure_future(starting)
        wish = asyncio.ensure_future(self._wish.asked())
        try:
            await asyncio.wait({start, wish}, return_when=asyncio.FIRST_COMPLETED)
            if start.done():
                start.result()
            return self._wish.ending is None
        finally:
            wish.cancel()
            start.cancel()
            await asyncio.wait({start})

    # Ending

    def _now(self) -> float:
        return self._parts.clock.monotonic()

    async def _leave(self) -> None:
        """Stop the gateway and release the home by the deadline, even if stopping takes longer."""
        hosted, self._hosted = self._hosted, None
        self._board.enter("stopping", self._wish.now().words)
        leaving: asyncio.Future[None] = asyncio.ensure_future(
            hosted.leave(self._wish) if hosted is not None else asyncio.sleep(0)
        )
        telling = asyncio.ensure_future(self._tell_time())
        try:
            await self._until_due(leaving)
            if hosted is not None:
                await hosted.release_tokens()
        except Exception:  # the home must be released whatever happens
            log.exception("Leaving the platforms failed")
        finally:
            telling.cancel()
            await asyncio.wait({telling})
        await self._give_back(stopped=leaving.done())
        await _finish(leaving)

    async def _until_due(self, leaving: "asyncio.Future[None]") -> None:
        """Wait for the gateway to stop, at most until the home must be released."""
        latest = None
        while not leaving.done():
            changed, ending = self._wish.changed(), self._wish.now()
            if ending.identity_gone and latest is None:
                latest = self._now() + _FINISH_S
            due = latest if ending.identity_gone or ending.deadline is None else ending.deadline
            left = None if due is None else due - _MARGIN_S - self._now()
            if left is not None and left <= 0:
                log.warning("The gateway has not stopped in time; its home is released")
                return
            await asyncio.wait(
                {leaving, changed}, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            changed.cancel()

    async def _tell_time(self) -> None:
        """Report the remaining waiting time once per tick."""
        while True:
            changed, ending = self._wish.changed(), self._wish.now()
            left = ending.drain_until - self._now()
            turns = self._board.hosted_turns if left > 0 else 0
            if ending.cause == "closing":
                return  # the host reports all turns in this case
            self._board.explain(waiting_words(turns, left) if turns else "")
            await asyncio.wait({changed}, timeout=_TICK_S)
            changed.cancel()

    async def _give_back(self, *, stopped: bool) -> None:
        """Release the home, or confirm that we stopped if the identity is already lost.

        The confirmation is needed because the identity thread waits for it.

        Args:
            stopped: Whether the gateway has stopped. If not, and another gateway runs, the thread
                that watches the identity ends the program.
        """
        if not self._wish.now().identity_gone:
            await self._parts.identity.release()
        elif stopped:
            self._parts.identity.confirm_stopped()


async def _finish(leaving: "asyncio.Future[None]") -> None:
    """Wait for the rest of a gateway to end, and cancel what hangs."""
    await asyncio.wait({leaving}, timeout=_FINISH_S)
    if not leaving.done():
        leaving.cancel()
        await asyncio.wait({leaving}, timeout=_CANCEL_S)
    if leaving.done() and not leaving.cancelled() and leaving.exception() is not None:
        log.error("Leaving the platforms failed", exc_info=leaving.exception())
