"""Where the time comes from, so that tests can move it."""

import time
from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """What parts of the program need of time."""

    def time(self) -> float:
        """Seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean something."""
        ...

    def now(self) -> datetime:
        """Local wall-clock time without a zone, as the routing index stores it."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def time(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def now(self) -> datetime:
        """Local wall-clock time without a zone."""
        return datetime.now()  # noqa: DTZ005 - the routing index is naive local by format
