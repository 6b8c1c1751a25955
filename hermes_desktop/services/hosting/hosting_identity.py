"""The identity of the home, as the loop sees it.

What happens to it is noticed on a thread of its own and brought here; what must happen although
the loop hangs – ending the whole program – is done on that thread.
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
from hermes_desktop.gateway.identity.take_over import TakeOver
from hermes_desktop.gateway.runtime_files.identity_events import (
    ClaimAnswer,
    ForeignGateway,
    IdentityEvent,
    MustEnd,
)

log = logging.getLogger(__name__)


class HostingIdentity:
    """Claims and gives back, off the loop; brings events to it.

    Args:
        paths: The home.
        environ: For the command that asks another gateway to stop.
        clock: Where the time comes from.
        checks: What is looked at before claiming.
        worker: Where blocking calls run, one at a time.
        happened: Called on the loop with each event but :class:`MustEnd`.
        end_program: Ends the process at once; called on the identity's own thread, when our
            gateway does not stop while another one runs.
    """

    def __init__(  # noqa: PLR0913 - what it stands between
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
        self._take_over = TakeOver(paths, self.held, environ=environ, clock=clock)
        self._give_up = threading.Event()

    @property
    def foreign(self) -> ForeignGateway | None:
        """The other gateway, as it was a second ago at most."""
        return self.held.foreign

    def open(self) -> None:
        """Begin to watch, for the running loop."""
        self._loop = asyncio.get_running_loop()
        self.held.start()

    async def claim(self, *, insist: bool) -> ClaimAnswer:
        """Try to become the gateway of the home; at most about 5 s.

        Args:
            insist: Although a service is installed, or the command line has just stopped us.
        """
        return await self._worker.run(
            self.held.claim, despite_service=insist, despite_recent_stop=insist
        )

    async def release(self) -> None:
        """Give the home back, in order; at most about 2 s."""
        if not await self._worker.run(self.held.release):
            log.warning("The identity process went without a goodbye")

    async def take_over(self, *, insist: bool, progress: Callable[[str], None]) -> ClaimAnswer:
        """Ask the other gateway to stop, and claim its home; at most about two minutes.

        Args:
            insist: Although a service is installed.
            progress: Told, on the loop, what is going on.
        """
        self._give_up.clear()
        loop = asyncio.get_running_loop()

        def tell(words: str) -> None:
            loop.call_soon_threadsafe(progress, words)

        return await self._worker.run(
            self._take_over.run, self._give_up, progress=tell, despite_service=insist
        )

    def confirm_stopped(self) -> None:
        """Say that our gateway stopped after the identity had gone."""
        self.held.confirm_stopped()

    def give_up_take_over(self) -> None:
        """Wait for the other gateway no longer."""
        self._give_up.set()

    async def close(self) -> None:
        """Give back what is held and watch no more."""
        self.give_up_take_over()
        await self._worker.run(self.held.close)
        self._loop = None

    def _hear(self, event: IdentityEvent) -> None:
        """On the identity's thread."""
        if isinstance(event, MustEnd):
            log.critical("The gateway does not stop while another one runs; the program ends.")
            self._end_program()
            return
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
                loop.call_soon_threadsafe(self._happened, event)
