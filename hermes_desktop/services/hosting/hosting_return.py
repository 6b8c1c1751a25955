"""Whether the gateway starts by itself after another one went away."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway
from hermes_desktop.gateway.runtime_files.identity_files import STATE_FILE, parse_record, read_json
from hermes_desktop.services.hosting.hosting_words import OTHER_CRASHED, OTHER_STOPPED

TAKE_UP_AFTER_S = 5.0
"""How long a home is left alone after a crash: what crashed may be started again by its owner."""
_UNFINISHED = frozenset({"starting", "running", "degraded", "draining"})


class Return:
    """Decides when the home may be claimed without a person's word. For one loop.

    A gateway that ended in order was stopped by somebody, so the home stays free until a person
    starts the gateway here. ``hermes gateway restart`` looks the same until its second process
    appears, which is then followed. Only a gateway that still says that it runs has crashed.

    Args:
        home: The home.
        clock: Where the time comes from.
        worker: Where files are read.
        pause_s: How long to wait after a crash.
        autostart: Whether the gateway starts by itself at all.
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
        """Whether the gateway may start without a person's word now."""
        return self._wanted

    def allow(self) -> None:
        """A person started it: from now on it comes back by itself if that is switched on."""
        self._wanted = self._autostart

    def forbid(self) -> None:
        """Somebody stopped it: only a person, or the next start of the program, starts it."""
        self._wanted = False
        self.cancel()

    def note_other(self, gateway: ForeignGateway | None) -> None:
        """Another gateway has the home; None when the home was lost to nobody."""
        self._last = gateway
        self.cancel()

    def cancel(self) -> None:
        """End the waiting in :meth:`is_due`."""
        self._round += 1

    async def is_due(self, explain: Callable[[str], None], offer: Callable[[str], None]) -> bool:
        """Decide after the other gateway went, and wait if it crashed.

        Args:
            explain: Told, for a person, what is waited for.
            offer: Told, for a person, why the gateway does not start by itself.

        Returns:
            Whether to start now: it is allowed, nobody came, and nobody decided otherwise.
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
    """Whether the state file still says that this gateway runs."""
    state = read_json(home / STATE_FILE)
    record = parse_record(state)
    return (
        isinstance(state, Mapping)
        and record is not None
        and record.names(gateway.record)
        and state.get("gateway_state") in _UNFINISHED
    )
