"""The clock interface, which tests replace with a clock they control."""

import time
from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The time functions that the program uses."""

    def time(self) -> float:
        """Return the seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never decrease; only differences are meaningful."""
        ...

    def now(self) -> datetime:
        """Return the local wall-clock time without a zone, as the routing index stores it."""
        ...


class SystemClock:
    """The clocks of the operating system."""

    def time(self) -> float:
        """Return the seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never decrease."""
        return time.monotonic()

    def now(self) -> datetime:
        """Return the local wall-clock time without a zone."""
        return datetime.now()  # noqa: DTZ005 - the routing index is naive local by format
