"""Facade over the gateway of a home for the window, tray and command line: start, stop, status.

It manages two runners. The *private* one serves the desktop's own chat for the whole life of the
program. The *hosted* one serves the messaging platforms; it is rebuilt from re-read settings at
every start, and exists only while this program holds the identity of the home.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayState, GatewayStatusChanged
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.core.processes.exit_deadline import ExitDeadline
from hermes_desktop.gateway.config.config_loading import LoadedGatewayConfig
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.gateway.runtime_files.identity_events import (
    ForeignChanged,
    ForeignGateway,
    HardStop,
    IdentityEvent,
    IdentityLost,
    IdentityRenewed,
    StopRequested,
)
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord
from hermes_desktop.services.hosting.hosted_gateway import HostCallbacks, HostedGateway, HostedParts
from hermes_desktop.services.hosting.hosting_ending import (
    EndCause,
    Ending,
    forced_ending,
    requested_ending,
)
from hermes_desktop.services.hosting.hosting_identity import HostingIdentity
from hermes_desktop.services.hosting.hosting_life import HostingLifecycle, LifecycleDependencies
from hermes_desktop.services.hosting.hosting_outlook import StartChecks
from hermes_desktop.services.hosting.hosting_return import TAKE_UP_AFTER_S, AutomaticStart
from hermes_desktop.services.hosting.hosting_status import StatusBoard
from hermes_desktop.services.hosting.hosting_words import (
    ANOTHER_DESKTOP,
    other_gateway,
    settings_notice,
    waiting_words,
)
from hermes_desktop.services.hosting.platform_wishes import PlatformControls
from hermes_desktop.services.hosting.undone_work import LOOK_S, UndoneWorkWatch

DRAIN_S = 15.0


@dataclass(frozen=True, slots=True)
class HostSetup:
    """Configuration of a host, apart from the parts of its gateway.

    Attributes:
        autostart: Whether the gateway starts with the program, and after another gateway crashed.
        take_up_after_s: Seconds to wait after such a crash.
        work_look_s: Seconds between two checks for scheduled work that would not run.
        checks: Sandbox, operating system and service checks.
        end_program: Ends the process immediately, from any thread, if our gateway does not stop
            while another one runs.
        program: The name under which this program is shown to our other programs.
    """

    paths: HermesPaths
    environ: Mapping[str, str]
    autostart: bool = True
    take_up_after_s: float = TAKE_UP_AFTER_S
    work_look_s: float = LOOK_S
    checks: HostingChecks = field(default_factory=HostingChecks.here)
    end_program: Callable[[], None] = lambda: ExitDeadline().arm(0)
    program: str = "Hermes Desktop"


class GatewayHost(PlatformControls):
    """Hosts the gateway of one home, or follows the one that another program hosts.

    All methods are called on the event loop. The result of a call is stored in :attr:`status`, and
    each change of it is published once as :class:`GatewayStatusChanged`, which no other class
    publishes. No method raises because a gateway could not be started. A call made while another
    one is in progress joins it.

    The states of the event are ``stopped`` (no program hosts the home; ``refusal`` gives the reason
    if a start was attempted), ``starting`` (also during a restart), ``running``, ``working``,
    ``degraded``, ``stopping`` and ``attached`` (``other`` is the gateway that hosts the home).
    ``stopped`` is final until the user starts the gateway again (``offers_start``: ask them),
    unless ``detail`` says when it starts automatically. ``running_turns`` always includes the turns
    of the desktop's own chat.

    Args:
        setup: The home and the configuration of the host.
        parts: The dependencies of a hosted gateway.
        private: The runner of the desktop's own chat; None without one.
        bus: The event bus for the status and for notices about settings.
        clock: The clock.
    """

    def __init__(
        self,
        setup: HostSetup,
        parts: HostedParts,
        private: GatewayRunner | None,
        bus: EventBus,
        clock: Clock,
    ) -> None:
        self._setup = setup
        self._parts = parts
        self._private = private
        self._bus = bus
        self._clock = clock
        self._board = StatusBoard(self._publish, clock.time)
        self._board.follow_requests(bus)
        self._undone = UndoneWorkWatch(
            setup.paths, self._board.note_undone, every_s=setup.work_look_s
        )
        self._tasks = TaskSet()
        self._life: HostingLifecycle | None = None
        self._living: asyncio.Task[None] | None = None
        self._ended_by: EndCause | None = None
        self._closing = False
        self._identity: HostingIdentity | None = None
        self._return = AutomaticStart(
            setup.paths.home,
            clock,
            parts.worker,
            pause_s=setup.take_up_after_s,
            autostart=setup.autostart,
        )
        if private is not None:
            private.state.announce = self._board.note_private

    @property
    def status(self) -> GatewayStatusChanged:
        """The current status, as last published."""
        return self._board.status

    def look(self) -> GatewayStatusChanged:
        """Return :attr:`status` plus the last contact of each platform, which is not published."""
        hosted, status = self._hosted, self._board.status
        return status if hosted is None else replace(status, platforms=hosted.health())

    @property
    def state(self) -> GatewayState:
        """The state of :attr:`status` alone."""
        return self._board.status.state

    @property
    def other_follows(self) -> bool:
        """Whether the other gateway, if there is one, picks up changed settings automatically."""
        other = self._board.status.other
        return other is not None and other.name == ANOTHER_DESKTOP

    @property
    def ended_by(self) -> EndCause | None:
        """The cause that ended the last hosted gateway; None if none was hosted."""
        return self._ended_by

    async def open(self, *, host: bool = True) -> None:
        """Start the desktop's own chat and identity watch, and the gateway if autostart allows it.

        Returns before the hosted gateway runs: follow :attr:`status`. Called once.

        Args:
            host: False leaves the home alone: nothing is watched and nothing can be started.
        """
        if self._private is not None:
            await self._private.start()
        if host:
            self._identity = HostingIdentity(
                self._setup.paths,
                environ=self._setup.environ,
                clock=self._clock,
                checks=self._setup.checks,
                worker=self._parts.worker,
                happened=self._happened,
                end_program=self._setup.end_program,
            )
            self._identity.open()
            if self._return.allowed:
                self._live(self._identity)
        await self._board.published()

    async def start(self, *, insist: bool = False) -> None:
        """Start hosting; returns when the gateway runs, is refused or attached.

        Args:
            insist: Whether the user confirmed the start despite a known objection; overrides what
                may be insisted on (see :attr:`HostingRefusal.may_insist`).
        """
        await self._bring_up(insist=insist)

    async def take_over(self, *, insist: bool = False) -> None:
        """Ask the other gateway to stop and host the home instead; may take two minutes.

        Called only at the user's explicit request. Progress is reported in ``status.detail``. A
        gateway that does not stop, or that is restarted by something else, is left alone: the state
        stays ``attached`` and ``refusal`` says why. :meth:`stop` ends the wait.

        Args:
            insist: As in :meth:`start`.
        """
        await self._bring_up(insist=insist, take_over=True)

    async def stop(self, *, drain_s: float = DRAIN_S) -> None:
        """Stop hosting and release the home; the desktop's own chat continues.

        The gateway does not start automatically again until the program is restarted.

        Args:
            drain_s: Seconds that running turns are given to finish; progress is reported in
                ``status.detail``.
        """
        self._return.forbid()
        await self._end(Ending("person", self._until(drain_s)))
        await self._board.published()

    async def restart(self, *, drain_s: float = DRAIN_S) -> None:
        """Stop, re-read the settings and start. Also starts a stopped gateway.

        Args:
            drain_s: As in :meth:`stop`.
        """
        life = self._life
        if life is None:
            await self.start()
            return
        life.end(Ending("person", self._until(drain_s), comes_back=True))
        await life.settled()
        await self._board.published()

    def restart_soon(self) -> None:
        """Schedule a restart without waiting for it, as requested from a chat."""
        self._tasks.start(self.restart(), name="gateway restart")

    def hurry(self) -> None:
        """Interrupt the turns that a stop, restart or close is waiting for."""
        now = self._clock.monotonic()
        if self._life is not None and self._life.ending is not None:
            self._life.end(Ending(self._life.ending.cause, now, comes_back=True))
        if self._closing and self._private is not None:
            self._private.parts.life_cycle.hurry()

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Stop both runners, release the home and stop watching; nothing runs afterwards.

        A second call does nothing.

        Args:
            drain_s: As in :meth:`stop`; :meth:`hurry` cuts it short.
        """
        if self._closing:
            return
        self._closing = True
        self._return.forbid()
        ends: list[Awaitable[None]] = [self._end(Ending("closing", self._until(drain_s)))]
        if self._private is not None:
            ends.append(self._private.stop(drain_s))
        telling = self._tasks.start(self._tell_closing(drain_s), name="gateway closing")
        try:
            await asyncio.gather(*ends)
        finally:
            telling.cancel()
            self._board.explain("")
            if self._identity is not None:
                await self._identity.close()
            await self._tasks.cancel_all()
            self._undone.follow(promised=False)
            await self._board.published()

    # Lifecycle

    async def _bring_up(self, *, insist: bool, take_over: bool = False) -> None:
        if self._identity is None or self._closing:
            return
        self._return.allow()
        if self._life is not None and self._living is not None and self._life.is_ending:
            await asyncio.wait({self._living})
        life = self._life or self._live(self._identity, insist=insist, take_over=take_over)
        await life.settled()
        await self._board.published()

    def _live(
        self, identity: HostingIdentity, *, insist: bool = False, take_over: bool = False
    ) -> HostingLifecycle:
        self._return.cancel()
        parts = LifecycleDependencies(
            board=self._board,
            identity=identity,
            outlook=StartChecks(
                self._setup.paths,
                self._setup.environ,
                self._parts.redactor,
                self._parts.registry,
                self._setup.checks,
                self._parts.db.look_again,
            ),
            worker=self._parts.worker,
            clock=self._clock,
            make_hosted=partial(self._make_hosted, identity),
            tell_settings=self._tell_settings,
        )
        self._life = life = HostingLifecycle(parts, insist=insist, take_over=take_over)
        self._living = self._tasks.start(self._run(life), name="gateway life")
        return life

    async def _run(self, life: HostingLifecycle) -> None:
        self._ended_by = "failed"
        try:
            await life.run()
            self._ended_by = None if life.ending is None else life.ending.cause
        finally:
            self._life = None
        identity = self._identity
        gone = self._ended_by == "gone" and self._return.allowed
        if gone and identity is not None and identity.foreign is None:
            self._tasks.start(
                self._restart_after_crash(), name="gateway return"
            )  # it has gone already

    async def _end(self, ending: Ending) -> None:
        if self._life is not None and self._living is not None:
            self._life.end(ending)
            await asyncio.wait({self._living})

    def _make_hosted(
        self, identity: HostingIdentity, loaded: LoadedGatewayConfig, record: GatewayRecord
    ) -> HostedGateway:
        return HostedGateway(
            self._parts,
            loaded.config,
            record=identity.held.record or record,
            identity=identity.held,
            calls=HostCallbacks(self._board.note_hosted, self._board.explain, self.restart_soon),
        )

    @property
    def _hosted(self) -> HostedGateway | None:
        return self._life.hosted if self._life is not None else None

    # Events

    def _publish(self, status: GatewayStatusChanged) -> None:
        self._bus.publish(status)
        self._undone.follow(promised=self._board.promises and not self._closing)

    def _happened(self, event: IdentityEvent) -> None:
        match event:
            case StopRequested():
                self._wish(requested_ending(event))
            case HardStop() | IdentityLost():
                if isinstance(event, HardStop):
                    self._return.forbid()
                else:
                    self._return.note_other(event.owner and ForeignGateway(event.owner))
                self._wish(forced_ending(event, self._clock.monotonic()))
            case IdentityRenewed(record):
                if self._hosted is not None:
                    self._tasks.start(self._hosted.renew(record), name="token locks")
            case ForeignChanged(gateway):
                self._board.note_other(other_gateway(gateway, self._clock))
                if gateway is not None:
                    self._return.note_other(gateway)
                elif self._life is None and not self._closing:
                    self._tasks.start(self._restart_after_crash(), name="gateway return")

    def _wish(self, ending: Ending) -> None:
        if ending.stopped_from_outside:
            self._return.forbid()
        if self._life is not None:
            self._life.end(ending)
        elif ending.identity_gone and self._identity is not None:
            self._identity.confirm_stopped()

    async def _restart_after_crash(self) -> None:
        """Host the home after the other gateway went away, if it crashed and that is allowed."""
        board = self._board
        if await self._return.is_due(board.explain, board.offer_start) and self._life is None:
            identity = self._identity
            if identity is not None and not self._closing:
                self._live(identity)

    def _tell_settings(self, warnings: tuple[str, ...]) -> None:
        self._bus.publish(settings_notice(warnings))

    async def _tell_closing(self, drain_s: float) -> None:
        """Report what closing waits for, the turns of the desktop's own chat included."""
        until = self._until(drain_s)
        while (left := until - self._clock.monotonic()) > 0:
            if turns := self._board.status.running_turns:
                self._board.explain(waiting_words(turns, left))
            await asyncio.sleep(min(1.0, left))

    def _until(self, drain_s: float) -> float:
        return self._clock.monotonic() + drain_s
