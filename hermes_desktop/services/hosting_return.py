"""Whether, and how soon, the gateway starts by itself after another one went away."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.clock import Clock
from hermes_desktop.gateway.identity_events import ForeignGateway
from hermes_desktop.gateway.identity_files import STATE_FILE, read_json


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the home is left to the gateway that may follow the one that went.

    Attributes:
        after_stop_s: After an end in order: ``hermes gateway restart`` stops one gateway and
            starts the next, and up to 20 s lie between.
        after_crash_s: After any other end.
    """

    after_stop_s: float = 30.0
    after_crash_s: float = 5.0


class Return:
    """Remembers who may start the gateway. For one loop.

    Args:
        home: The home.
        clock: Where the time comes from.
        worker: Where files are read.
        patience: How long that is waited.
        autostart: Whether it starts by itself at all.
    """

    def __init__(
        self,
        home: Path,
        clock: Clock,
        worker: WorkerThreads,
        patience: Patience,
        *,
        autostart: bool,
    ) -> None:
        self._home = home
        self._clock = clock
        self._worker = worker
        self._patience = patience
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

    def note_other(self, gateway: ForeignGateway) -> None:
        """Another gateway has the home."""
        self._last = gateway
        self.cancel()

    def cancel(self) -> None:
        """Whoever waits for its turn waits in vain."""
        self._round += 1

    async def is_due(self, explain: Callable[[str], None]) -> bool:
        """Wait for as long as the next gateway may take that belongs to the one that went.

        Args:
            explain: Told, for a person, what is waited for.

        Returns:
            Whether nobody came, and nobody decided otherwise.
        """
        if not self._wanted:
            return False
        self._round += 1
        mine = self._round
        in_order = await self._worker.run(self._left_in_order)
        pause = self._patience.after_stop_s if in_order else self._patience.after_crash_s
        until = self._clock.monotonic() + pause
        what = "The gateway" if self._last is None else "The other gateway ended. This one"
        while self._round == mine and (left := until - self._clock.monotonic()) > 0:
            explain(f"{what} starts in {left:.0f} s.")
            await asyncio.sleep(min(1.0, left))
        explain("")
        return self._round == mine and self._wanted

    def _left_in_order(self) -> bool:
        """Whether somebody stopped it; one that crashed still says that it runs."""
        state = read_json(self._home / STATE_FILE)
        return (
            isinstance(state, Mapping)
            and self._last is not None
            and state.get("pid") == self._last.record.pid
            and state.get("gateway_state") == "stopped"
        )
