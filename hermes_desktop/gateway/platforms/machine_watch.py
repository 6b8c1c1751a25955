"""Detection of interruptions of the machine: sleep, a suspended program, a change of network."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import Notice

TICK_S = 5.0
LEAST_S = 20.0
_DAY_S = 86_400.0


def boot_clock() -> Callable[[], float] | None:
    """Return a clock that continues while the machine sleeps; None where there is none."""
    number = getattr(time, "CLOCK_BOOTTIME", None)
    return None if number is None else lambda: time.clock_gettime(number)


@dataclass(frozen=True, slots=True)
class SuspendedTime:
    """A time in which the program did not run, in seconds since the epoch."""

    began_at: float
    ended_at: float

    @property
    def seconds(self) -> float:
        """Its duration."""
        return self.ended_at - self.began_at


class SleepWatch:
    """Compares clocks every few seconds; one that advanced more than expected indicates a gap.

    Args:
        clock: The machine's clocks.
        boot_time: See :func:`boot_clock`.
        tick_s: The interval of checks.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        boot_time: Callable[[], float] | None = None,
        tick_s: float = TICK_S,
    ) -> None:
        self._clock = clock
        self._boot_time = boot_time or clock.monotonic
        self._tick_s = tick_s
        self._seen = self._now()

    async def run(
        self, woke: Callable[[SuspendedTime], None], each_time: Callable[[], None] = lambda: None
    ) -> None:
        """Check until cancelled.

        Args:
            woke: Called with each gap.
            each_time: A further check at the same interval, which saves a timer.
        """
        self._seen = self._now()
        while True:
            await asyncio.sleep(self._tick_s)
            gap = self.look()
            if gap is not None:
                woke(gap)
            each_time()

    def look(self) -> SuspendedTime | None:
        """Return the gap if much more time than expected has passed since the last check."""
        before, self._seen = self._seen, self._now()
        passed = max(new - old for new, old in zip(self._seen, before, strict=True))
        if passed - self._tick_s < LEAST_S:
            return None
        wall = self._seen[0]
        return SuspendedTime(wall - passed, wall)

    def _now(self) -> tuple[float, float, float]:
        return self._clock.time(), self._clock.monotonic(), self._boot_time()


def sleep_notice(gap: SuspendedTime, kept: Iterable[str], lost: Iterable[str]) -> Notice:
    """Return the notice about a sleep, and what happened to messages during it.

    Args:
        gap: The time of the sleep.
        kept: Platforms whose servers keep messages for us.
        lost: Platforms whose servers do not.
    """
    return Notice(
        "info", f"Asleep from {span(gap)}.", _what_became(kept, lost), key="gateway:asleep"
    )


def outage_notice(platform: str, gap: SuspendedTime, *, kept: bool) -> Notice:
    """Return the notice about a platform's outage, and what happened to messages during it."""
    return Notice(
        "info" if kept else "warning",
        f"{platform.replace('_', ' ').capitalize()} was out of reach from {span(gap)}.",
        _what_became([platform] if kept else [], [] if kept else [platform]),
        key=f"gateway:outage:{platform}",
    )


def _what_became(kept: Iterable[str], lost: Iterable[str]) -> str:
    fetched, gone = ", ".join(sorted(kept)), ", ".join(sorted(lost))
    parts = []
    if fetched:
        parts.append(f"Messages that the server kept are delivered: {fetched}.")
    if gone:
        parts.append(f"The server did not keep messages from that time: {gone}.")
    return " ".join(parts)


def span(gap: SuspendedTime) -> str:
    """Return ``22:10 to 07:45``, with dates when more than a day lies between."""
    form = "%H:%M" if gap.seconds < _DAY_S else "%Y-%m-%d %H:%M"
    began, ended = (
        datetime.fromtimestamp(moment, UTC).astimezone().strftime(form)
        for moment in (gap.began_at, gap.ended_at)
    )
    return f"{began} to {ended}"


_ANYWHERE = {"00000000", "0" * 32}
_IPV4_COLUMNS = 8
_IPV6_COLUMNS = 10


class NetworkWatch:
    """Compares the machine's default routes with those of the last check.

    A check reads two small files of the kernel (about 0.1 ms), so it can run on the event loop.
    Routes to neighbors do not count, because containers come and go. Where these files do not
    exist, no change is ever detected.

    Args:
        folder: The folder in which the kernel shows its routes.
    """

    def __init__(self, folder: Path = Path("/proc/net")) -> None:
        self._folder = folder
        self._seen = self._ways_out()

    def look(self) -> bool:
        """Return whether the routes changed since the last check."""
        before, self._seen = self._seen, self._ways_out()
        return before != self._seen

    def _ways_out(self) -> frozenset[tuple[str, ...]]:
        ways = set()
        for line in self._lines("route"):
            fields = line.split()
            if len(fields) >= _IPV4_COLUMNS and fields[1] in _ANYWHERE:
                ways.add((fields[0], fields[2], fields[7]))  # device, gateway, mask
        for line in self._lines("ipv6_route"):
            fields = line.split()
            if len(fields) >= _IPV6_COLUMNS and fields[0] in _ANYWHERE and fields[-1] != "lo":
                ways.add((fields[-1], fields[4], fields[1]))
        return frozenset(ways)

    def _lines(self, name: str) -> list[str]:
        try:
            return (self._folder / name).read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return []
