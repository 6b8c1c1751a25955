"""Takeover of a home: asks the other gateway to stop, within a time-out, then claims the home.

The other gateway is never killed: one that does not stop may have its reasons.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.identity_supervisor import GatewayIdentity
from hermes_desktop.gateway.identity.polite_stop import ask_to_go, wait_until_gone
from hermes_desktop.gateway.runtime_files.identity_events import (
    ClaimAnswer,
    ForeignGateway,
    NotHere,
)

CONTEST_WINDOW_S = 600.0
MOST_TAKE_OVERS = 2


class HomeTakeover:
    """Takeover of a home from another gateway.

    A gateway that restarts after two stops within ten minutes is presumably kept running on
    purpose, so further takeovers are refused.

    Args:
        paths: The home.
        identity: The identity that claims it.
        environ: The process environment, for the command that is run.
        clock: The time source.
    """

    def __init__(
        self,
        paths: HermesPaths,
        identity: GatewayIdentity,
        *,
        environ: Mapping[str, str],
        clock: Clock | None = None,
    ) -> None:
        self._paths = paths
        self._identity = identity
        self._environ = environ
        self._clock = clock or SystemClock()
        self._times: deque[float] = deque(maxlen=MOST_TAKE_OVERS)

    def run(
        self,
        cancel: threading.Event | None = None,
        *,
        progress: Callable[[str], None] = lambda _: None,
        despite_service: bool = False,
    ) -> ClaimAnswer:
        """Take over. Blocks for up to two minutes: the other gateway may finish its turns first.

        Args:
            cancel: Cancels the wait; the other gateway may still stop.
            progress: Called with the current step, as one sentence for the user.
            despite_service: See :meth:`GatewayIdentity.claim`.
        """
        cancel = cancel or threading.Event()
        now = self._clock.monotonic()
        if len(self._times) == MOST_TAKE_OVERS and now - self._times[0] < CONTEST_WINDOW_S:
            return NotHere("contested", "Another program keeps restarting the other gateway.")
        gateway = self._identity.foreign
        if gateway is not None and gateway.record.is_live():
            problem = self._stop_other(gateway, cancel, progress)
            if problem and gateway.record.is_live():
                return NotHere("not_stopped", problem)
            self._times.append(now)
        if cancel.is_set():
            return NotHere("not_stopped", "You stopped waiting for it.")
        progress("Claiming the home.")
        return self._identity.claim(despite_service=despite_service, despite_recent_stop=True)

    def _stop_other(
        self, gateway: ForeignGateway, cancel: threading.Event, progress: Callable[[str], None]
    ) -> str:
        """Stop the other gateway; return why it is still running, or ""."""
        progress(f"Asking the other gateway (process {gateway.record.pid}) to stop.")
        problem = self._ask(gateway, cancel)
        if problem or not gateway.record.is_live():
            return problem
        progress("The other gateway is finishing its replies.")
        return wait_until_gone(gateway, cancel, clock=self._clock)

    def _ask(self, gateway: ForeignGateway, cancel: threading.Event | None = None) -> str:
        """Ask the gateway to stop; return why that failed, or ""."""
        return ask_to_go(self._paths, gateway, self._environ, self._clock, cancel)
