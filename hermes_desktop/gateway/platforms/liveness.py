"""Liveness of a platform, judged by when its server was last heard. Nothing is stored."""

from hermes_desktop.core.clock import Clock
from hermes_desktop.gateway.platforms.base import LastHeard, PlatformAdapter


def silent_for(since: LastHeard, clock: Clock) -> float:
    """Return for how many seconds nothing was heard.

    The monotonic clock may stop while the machine sleeps; then the wall clock counts. If the wall
    clock was set back, the monotonic clock counts.
    """
    return max(clock.monotonic() - since.monotonic, clock.time() - since.wall)


def is_silent(adapter: PlatformAdapter, connected: LastHeard, clock: Clock) -> bool:
    """Return whether a connected adapter should have heard something by now and has not.

    Args:
        adapter: The adapter.
        connected: When its connection was established; used until the server is first heard.
        clock: The clock.
    """
    expected = adapter.expected_silence_s
    return expected is not None and silent_for(adapter.last_heard or connected, clock) >= expected


def until_silent(adapter: PlatformAdapter, connected: LastHeard, clock: Clock) -> float | None:
    """Return in how many seconds it will be silent if nothing is heard; None: never."""
    expected = adapter.expected_silence_s
    if expected is None:
        return None
    return max(0.0, expected - silent_for(adapter.last_heard or connected, clock))
