"""A thread on which calls run one after the other, at once or when their time has come."""

import logging
import queue
import threading
from collections.abc import Callable

from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 1.0


class TimedThread:
    """A daemon thread. :meth:`post` may be called from anywhere, the rest from its calls only.

    Args:
        name: The thread's name.
        clock: By which calls become due; looked at every second, for it may jump.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self._clock = clock
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._due: dict[Callable[[], None], float] = {}
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether it was started and did not end."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin with what was posted."""
        self._thread.start()

    def post(self, call: Callable[[], None]) -> None:
        """Run this after what was posted before."""
        self._inbox.put(call)

    def close(self, *, timeout: float) -> None:
        """End after what was posted, and wait for it, at most so many seconds."""
        if self._thread.is_alive():
            self.post(self._end)
            self._thread.join(timeout)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Run this when so much time has passed; the same call is due only once."""
        self._due[call] = self._clock.monotonic() + seconds

    def forget(self, call: Callable[[], None]) -> None:
        """Do not run what was to run later."""
        self._due.pop(call, None)

    def _run(self) -> None:
        while not self._ended:
            try:
                self._step()
            except Exception:  # one mistake must not end the watching
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
            # An earlier one may have made a later one needless.
            if at <= now and self._due.pop(call, None) is not None:
                call()

    def _end(self) -> None:
        self._ended = True
