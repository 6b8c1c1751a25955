"""Runs of the same work, one at a time; requests during a run lead to one more. No Qt."""

import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)


class CoalescedRuns:
    """Keeps runs of the same work from overlapping. Main thread only.

    Attributes:
        held: While it is set, no run begins, and requests stay :attr:`wanted`.
    """

    def __init__(self) -> None:
        self.held = False
        self._running = False
        self._wanted = False

    @property
    def wanted(self) -> bool:
        """Whether a run was requested and has not begun."""
        return self._wanted

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run the work, and once more if that is requested meanwhile.

        During another run this only requests one more and returns at once.

        Args:
            work: Called for each run of this call.

        Raises:
            Exception: The last run failed. Earlier failures are logged.
        """
        self._wanted = True
        if self._running:
            return
        self._running = True
        try:
            while self._wanted and not self.held:
                self._wanted = False
                try:
                    await work()
                except Exception:
                    if not self._wanted:
                        raise
                    log.warning("A run failed and is repeated", exc_info=True)
        finally:
            self._running = False
