"""Event-loop side of the identity of a home.

Identity events are detected on a separate thread and forwarded to the event loop. What must happen
even if the loop hangs, which is ending the whole program, is done on that thread.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.identity.identity_supervisor import GatewayIdentity
from hermes_desktop.gateway.identity.take_over import HomeTakeover
from hermes_desktop.gateway.runtime_files.identity_events import (
    ClaimAnswer,
    ForeignGateway,
    IdentityEvent,
    MustEnd,
)

log = logging.getLogger(__name__)


class HostingIdentity:
    """Claims and releases the identity off the event loop, and forwards its events to the loop.

    Args:
        paths: The home.
        environ: The environment of the command that asks another gateway to stop.
        clock: The clock.
        checks: The checks made before claiming.
        worker: The worker thread for blocking calls, one at a time.
        happened: Called on the loop with each event except :class:`MustEnd`.
        end_program: Ends the process; called on the identity's own thread when our gateway
            does not stop while another one runs.
    """

    def __init__(  # noqa: PLR0913 - the parts that it connects
        self,
        paths: HermesPaths,
        *,
        environ: Mapping[str, str],
        clock: Clock,
        checks: HostingChecks,
        worker: WorkerThreads,
        happened: Callable[[IdentityEvent], None],
        end_program: Callable[[], None],
    ) -> None:
        self._worker = worker
        self._happened = happened
        self._end_program = end_program
        self._loop: asyncio.AbstractEventLoop | None = None
        self.held = GatewayIdentity(paths, events=self._hear, clock=clock, checks=checks)
        self._take_over = HomeTakeover(paths, self.held, environ=environ, clock=clock)
        self._give_up = threading.Event()

    @property
    def foreign(self) -> ForeignGateway | None:
        """The other gateway, at most a second out of date."""
        return self.held.foreign

    def open(self) -> None:
        """Start watching, with events delivered to the running loop."""
        self._loop = asyncio.get_running_loop()
        self.held.start()

    async def claim(self, *, insist: bool) -> ClaimAnswer:
        """Try to become the gateway of the home; takes at most about 5 s.

        Args:
            insist: Claim even if a service is installed or the command line has just stopped us.
        """
        return await self._worker.run(
            self.held.claim, despite_service=insist, despite_recent_stop=insist
        )

    async def release(self) -> None:
        """Release the home in order; takes at most about 2 s."""
        if not await self._worker.run(self.held.release):
            log.warning("The identity process went without a goodbye")

    async def take_over(self, *, insist: bool, progress: Callable[[str], None]) -> ClaimAnswer:
        """Ask the other gateway to stop, and claim its home; takes at most about two minutes.

        Args:
            insist: Claim even if a service is installed.
            progress: Called on the loop with progress messages.
        """
        self._give_up.clear()
        loop = asyncio.get_running_loop()

        def tell(words: str) -> None:
            loop.call_soon_threadsafe(progress, words)

        return await self._worker.run(
            self._take_over.run, self._give_up, progress=tell, despite_service=insist
        )

    def confirm_stopped(self) -> None:
        """Confirm that our gateway stopped after the identity was lost."""
        self.held.confirm_stopped()

    def give_up_take_over(self) -> None:
        """Stop waiting for the other gateway."""
        self._give_up.set()

    async def close(self) -> None:
        """Release what is held and stop watching."""
        self.give_up_take_over()
        await self._worker.run(self.held.close)
        self._loop = None

    def _hear(self, event: IdentityEvent) -> None:
        """Forward an event to the loop. Runs on the identity's thread."""
        if isinstance(event, MustEnd):
            log.critical("The gateway does not stop while another one runs; the program ends.")
            self._end_program()
            return
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nothing receives it
                loop.call_soon_threadsafe(self._happened, event)
