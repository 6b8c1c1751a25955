"""Whether a platform is alive, judged by when its server was last heard of. Nothing is stored."""

from hermes_desktop.core.clock import Clock
from hermes_desktop.gateway.platforms.base import LastHeard, PlatformAdapter


def silent_for(since: LastHeard, clock: Clock) -> float:
    """For how many seconds nothing was heard.

    A machine that sleeps may stop its monotonic clock; the wall clock tells then. One that was set
    back tells nothing; the monotonic clock does.
    """
    return max(clock.monotonic() - since.monotonic, clock.time() - since.wall)


def is_silent(adapter: PlatformAdapter, connected: LastHeard, clock: Clock) -> bool:
    """Whether a connected adapter should have heard something by now and has not.

    Args:
        adapter: The adapter.
        connected: When its connection came about; counts until the first word of the server.
        clock: The clock.
    """
    expected = adapter.expected_silence_s
    return expected is not None and silent_for(adapter.last_heard or connected, clock) >= expected


def until_silent(adapter: PlatformAdapter, connected: LastHeard, clock: Clock) -> float | None:
    """In how many seconds it will be silent if nothing is heard; None: never."""
    expected = adapter.expected_silence_s
    if expected is None:
        return None
    return max(0.0, expected - silent_for(adapter.last_heard or connected, clock))
