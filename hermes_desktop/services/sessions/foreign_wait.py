"""Waiting for a turn that ``hermes`` runs in the same session, before a message is stored."""

import asyncio
import contextlib
from collections.abc import Callable

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.keyed_locks import WaitAbandonedError
from hermes_desktop.core.errors import StillBusyError
from hermes_desktop.services.sessions.open_turns import ForeignTurns, OpenTurn

PATIENCE_S = 300.0
LOOK_S = 1.0

Tell = Callable[[OpenTurn | None, float], None]
"""Receives the turn that is waited for and the seconds left; None when the wait is over."""


class ForeignWait:
    """The gate at which a turn waits for foreign turns; see ``turn_gate`` of the runner.

    Args:
        turns: Detects turns of other programs.
        readers: The worker thread for the checks.
        clock: The clock.
        tell: Called on the loop with the progress of the wait.
        patience_s: Seconds after which the message is not sent; None: :data:`PATIENCE_S`.
        look_s: Seconds between two checks.
    """

    def __init__(
        self,
        turns: ForeignTurns,
        readers: WorkerThreads,
        clock: Clock,
        tell: Tell,
        *,
        patience_s: float | None = None,
        look_s: float = LOOK_S,
    ) -> None:
        self._turns = turns
        self._readers = readers
        self._clock = clock
        self._tell = tell
        self._patience_s = PATIENCE_S if patience_s is None else patience_s
        self._look_s = look_s

    async def pass_gate(self, session_id: str, ending: asyncio.Event) -> None:
        """Wait until no foreign program answers in a session.

        Args:
            session_id: The session.
            ending: Ends the wait when it is set.

        Raises:
            WaitAbandonedError: ``ending`` was set.
            StillBusyError: The other program takes too long; nothing was sent.
            StateError: The shared file cannot be read.
        """
        end = self._clock.monotonic() + self._patience_s
        waited = False
        try:
            while (turn := await self._readers.run(self._turns.foreign, session_id)) is not None:
                left = end - self._clock.monotonic()
                if left <= 0:
                    raise still_busy(turn, self._patience_s)
                waited = True
                self._tell(turn, left)
                await self._pause(ending)
        finally:
            if waited:
                self._tell(None, 0.0)

    async def _pause(self, ending: asyncio.Event) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._look_s):
                await ending.wait()
        if ending.is_set():
            raise WaitAbandonedError


def still_busy(turn: OpenTurn, patience_s: float) -> StillBusyError:
    """Return the error for another program that did not finish in time."""
    return StillBusyError(
        "Your message was not sent: another program is still answering in this session.",
        f"Waited {patience_s / 60:.0f} min: {turn}.",
        "Try again later, or add --now to send it immediately; the two replies may then mix.",
    )
