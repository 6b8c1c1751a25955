"""A clock that stands still until a test moves it."""

from datetime import datetime, timedelta


class MovableClock:
    """Starts at a fixed moment; :meth:`advance` moves all of its times."""

    def __init__(self) -> None:
        self._now = datetime(2026, 3, 1, 12, 0, 0)  # noqa: DTZ001 - local by format
        self._passed = 0.0
        self._jumped = 0.0

    def advance(self, seconds: float) -> None:
        self._passed += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back; no time passes."""
        self._jumped += seconds

    def time(self) -> float:
        return 1_772_366_400.0 + self._passed + self._jumped

    def monotonic(self) -> float:
        return 1000.0 + self._passed

    def now(self) -> datetime:
        return self._now + timedelta(seconds=self._passed + self._jumped)
