"""Supervisor that holds the gateway identity of one home or watches who does. No Qt, no asyncio.

All decisions are made on a dedicated thread, so that a hanging window or event loop cannot keep us
from noticing a stop request.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, cast

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.timed_thread import TimedThread
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.identity.identity_process import IdentityProcess, identity_command
from hermes_desktop.gateway.runtime_files import identity_files
from hermes_desktop.gateway.runtime_files.identity_events import (
    ClaimAnswer,
    Claimed,
    ForeignChanged,
    ForeignGateway,
    HardStop,
    HeldByOther,
    IdentityEvent,
    IdentityLost,
    IdentityRenewed,
    IdentityState,
    MustEnd,
    NotHere,
    StopKind,
    StopRequested,
    guarded,
)
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord
from hermes_desktop.gateway.status import read_foreign_gateway

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.3
LONGEST_PAUSE_S = 30.0
MOST_IN_WINDOW = 5
WINDOW_S = 120.0


class Respawns:
    """Counter of restarts of dead processes."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def next_pause(self, now: float) -> float | None:
        """Return the seconds before the next start, or None after more than five in two minutes.

        Args:
            now: Seconds of the monotonic clock.
        """
        while self._times and now - self._times[0] > WINDOW_S:
            self._times.popleft()
        if len(self._times) >= MOST_IN_WINDOW:
            return None
        pause = float(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** len(self._times)))
        self._times.append(now)
        return pause


CLAIM_S = 5.0
RELEASE_S = 2.0
RESTART_PAUSE_S = 0.5
RECENT_STOP_S = 30.0
CONFIRM_S = 5.0
_WATCH_S = 1.0
_SERVICE_CHECK_S = 30.0


class GatewayIdentity:
    """The gateway identity of one home. Public methods may be called from any thread; some block.

    Args:
        paths: The home.
        events: Called on the identity's own thread with each event; must not block.
        clock: The time source.
        checks: The checks that run before claiming.
        command: The identity process's command line; None for the real one.
    """

    def __init__(
        self,
        paths: HermesPaths,
        *,
        events: Callable[[IdentityEvent], None],
        clock: Clock | None = None,
        checks: HostingChecks | None = None,
        command: list[str] | None = None,
    ) -> None:
        self._paths = paths
        self._events = guarded(events)
        self._clock = clock or SystemClock()
        self._checks = checks or HostingChecks.here()
        self._command = command or identity_command(paths, parent=os.getpid())
        self._thread = TimedThread("gateway-identity", self._clock)
        # Everything below is accessed on that thread only.
        self._state: IdentityState = "free"
        self._process: IdentityProcess | None = None
        self._leaving: IdentityProcess | None = None
        self._record: GatewayRecord | None = None
        self._foreign: ForeignGateway | None = None
        self._fields: dict[str, Any] = {}
        self._answer: Future[ClaimAnswer] | None = None
        self._released: Future[bool] | None = None
        self._respawns = Respawns()
        self._stopped_at = float("-inf")
        self._service = False

    # ------------------------------------------------------------------------- from any thread

    @property
    def state(self) -> IdentityState:
        """The current state; ``hosting`` while this program holds the home."""
        return self._state

    @property
    def record(self) -> GatewayRecord | None:
        """The record that token locks name; None while this program does not hold the home."""
        return self._record

    @property
    def foreign(self) -> ForeignGateway | None:
        """The other gateway, as of at most one second ago."""
        return self._foreign

    def start(self) -> None:
        """Start watching which process is the gateway; writes nothing and takes no lock."""
        self._thread.post(self._watch)
        self._thread.start()

    def claim(
        self, *, despite_service: bool = False, despite_recent_stop: bool = False
    ) -> ClaimAnswer:
        """Try to become the gateway of the home. Blocks for up to about 5 s.

        Args:
            despite_service: The user confirmed although a service is installed for this home.
            despite_recent_stop: The user confirmed although the command line has just stopped us.
        """
        if not self._thread.is_alive:
            return NotHere("failed", "The program is closing.")
        answer: Future[ClaimAnswer] = Future()
        self._thread.post(lambda: self._claim(answer, despite_service, despite_recent_stop))
        return answer.result()

    def update(self, fields: Mapping[str, Any]) -> None:
        """Update fields of the state file; ignored while this program does not hold the home."""
        copied = dict(fields)
        self._thread.post(lambda: self._update(copied))

    def release(self, *, exit_reason: str | None = None) -> bool:
        """Release the home after the gateway stopped. Blocks for up to about 2 s.

        Args:
            exit_reason: The reason for the state file; None for an orderly shutdown.

        Returns:
            Whether the identity process confirmed that it left.
        """
        if not self._thread.is_alive:
            return True
        released: Future[bool] = Future()
        self._thread.post(lambda: self._release(released, exit_reason))
        return released.result()

    def confirm_stopped(self) -> None:
        """Confirm that the gateway stopped after a :class:`HardStop` or :class:`IdentityLost`."""
        self._thread.post(lambda: self._thread.forget(self._must_end))

    def close(self) -> None:
        """Release the home if needed and end the thread. Blocks for up to about 5 s."""
        self.release()
        self._thread.close(timeout=RELEASE_S)
        if self._leaving is not None:
            self._leaving.join(RELEASE_S)

    # --------------------------------------------------------------------------------- claiming

    def _claim(self, answer: Future[ClaimAnswer], service: bool, recent: bool) -> None:  # noqa: FBT001
        try:
            refusal = self._refusal(despite_service=service, despite_recent_stop=recent)
        except OSError as error:
            refusal = NotHere("failed", f"The home cannot be checked: {error}.")
        if refusal is not None:
            answer.set_result(refusal)
            return
        self._thread.forget(self._must_end)
        self._answer = answer
        self._state = "claiming"
        self._fields = {}
        self._respawns = Respawns()
        self._spawn()

    def _refusal(self, *, despite_service: bool, despite_recent_stop: bool) -> ClaimAnswer | None:
        if self._state == "hosting" and self._record is not None:
            return Claimed(self._record)
        if self._state not in {"free", "attached"}:
            return NotHere("failed", "Another program is starting or stopping it.")
        self._look()
        if self._foreign is not None:
            return HeldByOther(self._foreign)
        service = self._checks.service(self._paths)
        self._service = service is not None
        refusal = self._checks.refusal(self._paths, None if despite_service else service)
        left = self._stopped_at + RECENT_STOP_S - self._clock.monotonic()
        if refusal is None and left > 0 and not despite_recent_stop:
            return NotHere("recent_stop", "Another program has just stopped it.", wait_s=left)
        return refusal

    def _spawn(self) -> None:
        try:
            self._process = IdentityProcess(self._command, self._heard)
        except OSError as error:
            self._claim_failed(f"The identity process cannot be started: {error}")
            return
        self._thread.later(CLAIM_S, self._claim_timed_out)

    def _heard(self, process: IdentityProcess, message: Mapping[str, Any]) -> None:
        """Forward a message from the process's listener thread."""
        self._thread.post(lambda: self._take(process, message))

    def _take(self, process: IdentityProcess, message: Mapping[str, Any]) -> None:
        if process is not self._process:
            return
        log.debug("The identity process %d says %s", process.pid, message)
        record = identity_files.parse_record(message.get("record"))
        match message.get("say"):
            case "held" if record is not None:
                self._held(process, record)
            case "busy":
                self._busy(record)
            case "refused":
                self._claim_failed(f"The home cannot be claimed: {message.get('reason')}.")
            case "stop":
                self._stop_asked(message)
            case "lost":
                self._lost(record)
            case "bye":
                self._said_bye()
            case "end":
                self._process_ended()

    def _held(self, process: IdentityProcess, record: GatewayRecord) -> None:
        self._thread.forget(self._claim_timed_out)
        self._state = "hosting"
        self._record = record
        self._set_foreign(None)
        process.tell({"do": "limits", "service": self._service})
        if self._fields:
            process.tell({"do": "state", **self._fields})
        self._thread.later(_SERVICE_CHECK_S, self._check_service)
        if not self._give_answer(Claimed(record)):
            self._events(IdentityRenewed(record))

    def _busy(self, owner: GatewayRecord | None) -> None:
        self._drop_process()
        self._look()
        if self._foreign is None and owner is not None:
            self._foreign = ForeignGateway(owner)
        if not self._give_answer(HeldByOther(self._foreign)):
            self._stop_hard(IdentityLost(owner))

    def _claim_timed_out(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._claim_failed("The identity process did not answer.")

    def _claim_failed(self, detail: str) -> None:
        self._drop_process()
        if not self._give_answer(NotHere("failed", detail)):
            self._respawn_later()

    def _give_answer(self, answer: ClaimAnswer) -> bool:
        """Answer a pending claim; return False when none is pending (a replaced process)."""
        waiting, self._answer = self._answer, None
        if waiting is None:
            return False
        if not isinstance(answer, Claimed):
            self._state = "attached" if self._foreign else "free"
        waiting.set_result(answer)
        return True

    def _drop_process(self) -> None:
        """Drop a process that no longer holds anything."""
        self._thread.forget(self._claim_timed_out)
        self._thread.forget(self._check_service)
        process, self._process, self._record = self._process, None, None
        if process is not None:
            self._leaving = process
            process.hang_up()

    # ---------------------------------------------------------------------------------- hosting

    def _update(self, fields: dict[str, Any]) -> None:
        if self._state not in {"hosting", "stopping"}:
            return
        self._fields |= fields
        if self._process is not None:
            self._process.tell({"do": "state", **self._fields})

    def _check_service(self) -> None:
        self._service = self._checks.service(self._paths) is not None
        if self._process is not None:
            self._process.tell({"do": "limits", "service": self._service})
            self._thread.later(_SERVICE_CHECK_S, self._check_service)

    def _stop_asked(self, message: Mapping[str, Any]) -> None:
        kind = cast("StopKind", message.get("kind"))
        limit = float(message.get("limit") or 0.0)
        self._state = "stopping"
        if kind != "restart":
            self._stopped_at = self._clock.monotonic()
        self._thread.later(limit + CONFIRM_S, self._must_end)
        comes_back = kind == "restart" and not self._service
        self._events(StopRequested(kind, self._clock.monotonic() + limit, comes_back))

    def _said_bye(self) -> None:
        """Handle ``bye``: the agreed release, or the process's own time-out."""
        self._drop_process()
        if self._released is None:
            self._stop_hard(HardStop(None, "The gateway did not stop in time."))
        else:
            self._finish_release(in_order=True)

    def _process_ended(self) -> None:
        """Handle an end without ``bye``: killed, or (on Windows) stopped."""
        now = self._clock.time()
        kind = identity_files.stop_marker_kind(self._paths.home, self._record, now=now)
        self._drop_process()
        if self._released is not None:
            self._finish_release(in_order=False)
        elif self._state == "stopping":
            self._stop_hard(HardStop(None, "Its process was killed while it stopped."))
        elif self._answer is not None:
            self._claim_failed("The identity process ended immediately.")
        elif kind is not None:
            self._stopped_at = self._clock.monotonic()
            self._stop_hard(HardStop(kind, "The gateway was stopped from outside."))
        else:
            self._respawn_later()

    def _respawn_later(self) -> None:
        pause = self._respawns.next_pause(self._clock.monotonic())
        if pause is None:
            self._stop_hard(HardStop(None, "The identity process was killed too often."))
        else:
            log.warning("The identity process ended; another one follows in %.1f s", pause)
            self._thread.later(pause, self._respawn)

    def _respawn(self) -> None:
        if not self._paths.home.is_dir():
            self._stop_hard(IdentityLost(None))
        elif self._state == "hosting" and self._process is None:
            self._spawn()

    def _lost(self, owner: GatewayRecord | None) -> None:
        self._drop_process()
        self._look()
        self._stop_hard(IdentityLost(owner))

    def _stop_hard(self, event: HardStop | IdentityLost) -> None:
        self._state = "attached" if self._foreign else "free"
        self._thread.forget(self._respawn)
        self._thread.later(CONFIRM_S, self._must_end)
        self._events(event)

    def _must_end(self) -> None:
        self._look()
        if self._foreign is not None:
            self._events(MustEnd())
        else:
            self._thread.later(_WATCH_S, self._must_end)

    # -------------------------------------------------------------------------------- releasing

    def _release(self, released: Future[bool], exit_reason: str | None) -> None:
        self._thread.forget(self._must_end)
        self._thread.forget(self._respawn)
        if self._process is None:
            if self._state in {"hosting", "stopping"}:
                self._state = "attached" if self._foreign else "free"
            released.set_result(True)
            return
        self._released = released
        self._process.tell({"do": "release", "exit_reason": exit_reason})
        self._thread.later(RELEASE_S, self._release_timed_out)

    def _release_timed_out(self) -> None:
        self._drop_process()
        self._finish_release(in_order=False)

    def _finish_release(self, *, in_order: bool) -> None:
        self._thread.forget(self._release_timed_out)
        released, self._released = self._released, None
        self._state = "attached" if self._foreign else "free"
        self._give_answer(NotHere("failed", "It was released before it was claimed."))
        if released is not None:
            released.set_result(in_order)

    # --------------------------------------------------------------------------------- watching

    def _watch(self) -> None:
        if self._state in {"free", "attached"}:
            self._look()
        self._thread.later(_WATCH_S, self._watch)

    def _look(self) -> None:
        """Update the other gateway; our own process, which may still be leaving, is ignored."""
        own = self._process.pid if self._process is not None else 0
        found = read_foreign_gateway(self._paths.home, but=own)
        if found is not None and found.was_started_by(os.getpid()):
            found = None
        self._set_foreign(found)

    def _set_foreign(self, found: ForeignGateway | None) -> None:
        if self._state in {"free", "attached"}:
            self._state = "attached" if found else "free"
        if found != self._foreign:
            self._foreign = found
            self._events(ForeignChanged(found))
