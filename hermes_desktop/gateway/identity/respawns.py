"""Back-off for restarting a killed process, and the limit at which to give up."""

from collections import deque

FIRST_PAUSE_S = 0.3
LONGEST_PAUSE_S = 30.0
MOST_IN_WINDOW = 5
WINDOW_S = 120.0


class Respawns:
    """Counter of restarts of dead processes."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def next_pause(self, now: float) -> float | None:
        """Return the seconds before the next start, or None after more than five in two minutes.

        Args:
            now: Seconds of the monotonic clock.
        """
        while self._times and now - self._times[0] > WINDOW_S:
            self._times.popleft()
        if len(self._times) >= MOST_IN_WINDOW:
            return None
        pause = float(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** len(self._times)))
        self._times.append(now)
        return pause
