"""How long to wait before a platform is connected again, and how patient everything else is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkTiming:
    """Patience with one platform, in seconds.

    Attributes:
        connect_s: How long connecting may take.
        disconnect_s: How long leaving may take.
        probe_s: How long a silent server may take to give a sign of life.
        first_pause_s: The pause after the first failure; it doubles with each further one.
        longest_pause_s: The longest pause; there is no last attempt.
        quick_again_s: A connection that breaks is made anew at once, unless that was done less
            than so long ago.
        outage_told_s: From how long an outage on a person is told what it meant.
    """

    connect_s: float = 30.0
    disconnect_s: float = 5.0
    probe_s: float = 10.0
    first_pause_s: float = 30.0
    longest_pause_s: float = 300.0
    quick_again_s: float = 60.0
    outage_told_s: float = 300.0


class Backoff:
    """Counts failures of one platform and says when to try again."""

    def __init__(self, timing: LinkTiming) -> None:
        self._timing = timing
        self._quick_at: float | None = None
        self.failures = 0
        self.next_try = 0.0

    def failed(self, now: float) -> None:
        """An attempt failed."""
        self.failures += 1
        doubled = self._timing.first_pause_s * 2.0 ** min(self.failures - 1, 30)
        self.next_try = now + min(doubled, self._timing.longest_pause_s)

    def broke(self, now: float) -> None:
        """A connection that had come about is gone."""
        quick_at, self._quick_at = self._quick_at, now
        if quick_at is not None and now - quick_at < self._timing.quick_again_s:
            self.failed(now)
        else:
            self.failures, self.next_try = 0, now

    def connected(self) -> None:
        """An attempt went well."""
        self.failures = 0

    def at_once(self) -> None:
        """Somebody knows better: try now, and count anew."""
        self.failures, self.next_try, self._quick_at = 0, 0.0, None
