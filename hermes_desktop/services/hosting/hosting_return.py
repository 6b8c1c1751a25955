"""Policy for starting the gateway automatically after another one has ended."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway
from hermes_desktop.gateway.runtime_files.identity_files import STATE_FILE, parse_record, read_json
from hermes_desktop.services.hosting.hosting_words import OTHER_CRASHED, OTHER_STOPPED

TAKE_UP_AFTER_S = 5.0
"""Seconds to wait after a crash, because the owner of the crashed gateway may restart it."""
_UNFINISHED = frozenset({"starting", "running", "degraded", "draining"})


class AutomaticStart:
    """Decides when the home may be claimed without the user's request. For one event loop.

    A gateway that ended in order was stopped on purpose, so the home stays free until the user
    starts the gateway here. ``hermes gateway restart`` looks the same until its second process
    appears, which is then followed. Only a gateway whose state file still says that it runs has
    crashed.

    Args:
        home: The home.
        clock: The clock.
        worker: The worker thread on which files are read.
        pause_s: Seconds to wait after a crash.
        autostart: Whether the gateway ever starts automatically.
    """

    def __init__(
        self,
        home: Path,
        clock: Clock,
        worker: WorkerThreads,
        *,
        pause_s: float = TAKE_UP_AFTER_S,
        autostart: bool,
    ) -> None:
        self._home = home
        self._clock = clock
        self._worker = worker
        self._pause_s = pause_s
        self._autostart = autostart
        self._wanted = autostart
        self._last: ForeignGateway | None = None
        self._round = 0

    @property
    def allowed(self) -> bool:
        """Whether the gateway may start without the user's request now."""
        return self._wanted

    def allow(self) -> None:
        """Allow automatic starts again, if autostart is on, after a start by the user."""
        self._wanted = self._autostart

    def forbid(self) -> None:
        """Forbid automatic starts after a stop, until the user or the next launch starts it."""
        self._wanted = False
        self.cancel()

    def note_other(self, gateway: ForeignGateway | None) -> None:
        """Record the gateway that has the home; None when the home was lost to no other gateway."""
        self._last = gateway
        self.cancel()

    def cancel(self) -> None:
        """End the wait in :meth:`is_due`."""
        self._round += 1

    async def is_due(self, explain: Callable[[str], None], offer: Callable[[str], None]) -> bool:
        """Decide after the other gateway has ended; wait first if it crashed.

        Args:
            explain: Receives the user-facing text about what is waited for.
            offer: Receives the user-facing reason why the gateway does not start automatically.

        Returns:
            Whether to start now: it is allowed, no other gateway appeared, and nothing cancelled
            the wait.
        """
        self._round += 1
        mine = self._round
        if not await self._may_follow(mine, offer):
            return False
        until = self._clock.monotonic() + self._pause_s
        what = "The gateway" if self._last is None else "The other gateway crashed. This one"
        while self._round == mine and (left := until - self._clock.monotonic()) > 0:
            explain(f"{what} starts in {left:.0f} s.")
            await asyncio.sleep(min(1.0, left))
        explain("")
        return self._round == mine and await self._may_follow(mine, offer)

    async def _may_follow(self, mine: int, offer: Callable[[str], None]) -> bool:
        last = self._last
        crashed = last is None or await self._worker.run(_left_unfinished, self._home, last)
        if self._round != mine:
            return False
        if not crashed:
            self.forbid()
        if not self._wanted and last is not None:
            offer(OTHER_CRASHED if crashed else OTHER_STOPPED)
        return self._wanted


def _left_unfinished(home: Path, gateway: ForeignGateway) -> bool:
    """Return whether the state file still says that this gateway runs."""
    state = read_json(home / STATE_FILE)
    record = parse_record(state)
    return (
        isinstance(state, Mapping)
        and record is not None
        and record.names(gateway.record)
        and state.get("gateway_state") in _UNFINISHED
    )
