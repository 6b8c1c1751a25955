"""Plausibility checks of the computer's clock before anything is deleted because of its age.

A clock that jumps forward makes every session look old. So the wall clock is compared with clocks
that only count elapsed time. After a jump the clock is not trusted until it has returned, or has
run evenly for a week.
"""

import json
import logging
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

_DAY_S = 86_400.0
TOLERANCE_S = 300.0
MOST_AWAY_S = 31 * _DAY_S
"""The longest plausible time between two runs of the program; more counts as a clock jump."""
SETTLED_S = 7 * _DAY_S


@dataclass(frozen=True, slots=True)
class ClockNote:
    """The state of the clock check, stored between runs of the program. Epoch seconds.

    Attributes:
        seen: The latest time that the clock showed; 0 when unknown.
        off_by: The seconds by which it jumped without returning; 0 when it is trusted.
        since: The time since which it has run evenly after the jump.
    """

    seen: float = 0.0
    off_by: float = 0.0
    since: float = 0.0

    @classmethod
    def of(cls, text: str | None) -> "ClockNote":
        """Parse what :attr:`text` returned; anything else yields an empty note."""
        try:
            found = json.loads(text or "{}")
            values = [float(found.get(name, 0.0)) for name in ("seen", "off_by", "since")]
        except (AttributeError, OverflowError, RecursionError, TypeError, ValueError):
            return cls()
        return cls(*values) if all(map(math.isfinite, values)) else cls()

    @property
    def text(self) -> str:
        """The note serialized as text."""
        return json.dumps(asdict(self))

    @property
    def believed_at(self) -> float:
        """When the clock is trusted again if it runs evenly, epoch seconds; 0 if it is now."""
        return self.since + SETTLED_S if self.off_by else 0.0


class ClockCheck:
    """Detects jumps of the clock between two checks. Used on one thread.

    Args:
        clock: The machine's clocks.
        boot_time: A clock that also counts while the machine sleeps; None where there is none.
        note: The note of an earlier run of the program.
    """

    def __init__(
        self, clock: Clock, boot_time: Callable[[], float] | None, note: ClockNote
    ) -> None:
        self._clock = clock
        self._boot_time = boot_time
        self.note = note
        self._passed: tuple[float, ...] | None = None

    def look(self) -> bool:
        """Check the clock and return whether it can be trusted now."""
        now, jump = self._clock.time(), self._jump()
        off_by, since = self.note.off_by, self.note.since
        if jump:
            off_by, since = off_by + jump, now
            log.warning(
                "The clock of this computer jumped by %+.1f hours; nothing is deleted because of "
                "its age until the clock is back, or has run evenly for a week",
                jump / 3600,
            )
            if -TOLERANCE_S <= off_by <= self._tolerance_of_return:
                off_by = 0.0
        if off_by and now - since >= SETTLED_S:
            off_by = 0.0
        self._passed = self._counters()
        self.note = ClockNote(now, off_by, since if off_by else 0.0)
        return not off_by

    @property
    def _tolerance_of_return(self) -> float:
        """The tolerance for a return; larger at the first check, when elapsed time is unknown."""
        return MOST_AWAY_S if self._passed is None else TOLERANCE_S

    def _jump(self) -> float:
        """Return how far the clock is from what it should show; 0 when that is plausible."""
        before, gone = self.note.seen, self._clock.time() - self.note.seen
        if not before:
            return 0.0
        if self._passed is None:
            return 0.0 if -TOLERANCE_S <= gone <= MOST_AWAY_S else gone
        passed = max(new - old for new, old in zip(self._counters(), self._passed, strict=True))
        jump = gone - passed
        slept = self._boot_time is None and 0 < jump <= MOST_AWAY_S
        return 0.0 if slept or abs(jump) <= TOLERANCE_S else jump

    def _counters(self) -> tuple[float, ...]:
        more = () if self._boot_time is None else (self._boot_time(),)
        return (self._clock.monotonic(), *more)
