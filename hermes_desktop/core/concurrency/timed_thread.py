"""A thread that runs calls one after the other, immediately or at a due time."""

import logging
import queue
import threading
from collections.abc import Callable

from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 1.0


class TimedThread:
    """A daemon thread. :meth:`post` is thread-safe; the rest may be used by its calls only.

    Args:
        name: The thread's name.
        clock: Determines when calls become due; checked every second because it may jump.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self._clock = clock
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._due: dict[Callable[[], None], float] = {}
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether the thread was started and has not ended."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread, beginning with the calls already posted."""
        self._thread.start()

    def post(self, call: Callable[[], None]) -> None:
        """Run a call after those posted before."""
        self._inbox.put(call)

    def close(self, *, timeout: float) -> None:
        """End the thread after the posted calls, and wait up to ``timeout`` seconds for it."""
        if self._thread.is_alive():
            self.post(self._end)
            self._thread.join(timeout)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Run a call after this many seconds; the same call is scheduled only once."""
        self._due[call] = self._clock.monotonic() + seconds

    def forget(self, call: Callable[[], None]) -> None:
        """Cancel a scheduled call."""
        self._due.pop(call, None)

    def _run(self) -> None:
        while not self._ended:
            try:
                self._step()
            except Exception:  # one failure must not end the thread
                log.exception("A call on %s failed", self._thread.name)

    def _step(self) -> None:
        try:
            self._inbox.get(timeout=self._pause())()
        except queue.Empty:
            self._run_due()

    def _pause(self) -> float:
        if not self._due:
            return _LONGEST_PAUSE_S
        first = min(self._due.values()) - self._clock.monotonic()
        return min(_LONGEST_PAUSE_S, max(0.0, first))

    def _run_due(self) -> None:
        now = self._clock.monotonic()
        for call, at in list(self._due.items()):
            # An earlier call may have cancelled a later one.
            if at <= now and self._due.pop(call, None) is not None:
                call()

    def _end(self) -> None:
        self._ended = True
