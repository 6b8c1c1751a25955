"""Timing of platform connections: time-outs and the back-off between attempts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkTiming:
    """Time-outs and delays for one platform, in seconds.

    Attributes:
        connect_s: Time-out of connecting.
        disconnect_s: Time-out of disconnecting.
        probe_s: How long a silent server may take to respond to a probe.
        first_pause_s: The pause after the first failure; it doubles with each further one.
        longest_pause_s: The longest pause; the number of attempts is unlimited.
        quick_again_s: A broken connection is re-established immediately, unless that was already
            done within this time.
        outage_told_s: The minimum duration of an outage that is reported to the user.
    """

    connect_s: float = 30.0
    disconnect_s: float = 5.0
    probe_s: float = 10.0
    first_pause_s: float = 30.0
    longest_pause_s: float = 300.0
    quick_again_s: float = 60.0
    outage_told_s: float = 300.0


class Backoff:
    """Back-off of one platform: counts failures and schedules the next attempt."""

    def __init__(self, timing: LinkTiming) -> None:
        self._timing = timing
        self._quick_at: float | None = None
        self.failures = 0
        self.next_try = 0.0

    def failed(self, now: float) -> None:
        """Record a failed attempt."""
        self.failures += 1
        doubled = self._timing.first_pause_s * 2.0 ** min(self.failures - 1, 30)
        self.next_try = now + min(doubled, self._timing.longest_pause_s)

    def broke(self, now: float) -> None:
        """Record that an established connection broke."""
        quick_at, self._quick_at = self._quick_at, now
        if quick_at is not None and now - quick_at < self._timing.quick_again_s:
            self.failed(now)
        else:
            self.failures, self.next_try = 0, now

    def connected(self) -> None:
        """Record a successful attempt."""
        self.failures = 0

    def at_once(self) -> None:
        """Allow an immediate attempt, and reset the count."""
        self.failures, self.next_try, self._quick_at = 0, 0.0, None
