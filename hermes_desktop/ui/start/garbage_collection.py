"""Python's cyclic garbage collector, on the main thread only, and its schedule.

Python runs it on whichever thread allocates. In a program with a window that is often a worker
thread, and freeing a Qt object there crashes the process. Young objects are collected often and
briefly. All objects are collected in one pause, which is postponed until it would go unnoticed, but
never dropped.
"""

import gc
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from PySide6.QtCore import QObject, Qt, QTimer

from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

YOUNG_OBJECTS = 5_000
"""Number of new containers that triggers a collection of the youngest generation."""
MIDDLE_EVERY = 10
"""Number of youngest-generation collections after which the middle one is collected, too."""
SHORT_S = 0.010
"""Limit on the estimated duration of every collection except a full one."""
FEW_OBJECTS = 500
"""Fewer new containers than this do not justify a full collection."""
MANY_OBJECTS = 500_000
"""Number of new containers that triggers an immediate full collection, to save memory."""
QUIET_S = 3.0
"""A full collection waits until there was no input or streaming for this time."""
APART_S = 30.0
"""Minimum time between two full collections, unless memory fills up."""
AT_MOST_S = 50.0
"""A full collection is postponed no longer than this."""
_FIRST_GUESS_S = 1e-7
_LEAST_MEASURED = 1_000
_OLDER_WEIGHT = 0.7

Generation = Literal[0, 1, 2]


@dataclass(frozen=True, slots=True)
class Decision:
    """The generation to collect now, and the reason."""

    generation: Generation
    reason: str


@dataclass(slots=True)
class CollectionSchedule:
    """Decides what to collect, based on allocations and user activity.

    All times are of a monotonic clock.

    Args:
        now: The time when collecting begins.
    """

    now: float
    _active_at: float = field(init=False)
    _full_at: float = field(init=False)
    _wanted_at: float | None = field(init=False, default=None)
    _young_looks: int = field(init=False, default=0)
    _middle_objects: int = field(init=False, default=0)
    _object_s: float = field(init=False, default=_FIRST_GUESS_S)

    def __post_init__(self) -> None:
        self._active_at = self._full_at = self.now

    def note_activity(self, now: float) -> None:
        """Record input or streaming."""
        self._active_at = now

    def decide(self, now: float, allocated: int, *, hidden: bool) -> Decision | None:
        """Return what to collect now.

        Args:
            now: The time.
            allocated: Containers allocated, less those freed, since the last collection.
            hidden: Whether the window is hidden from the user.
        """
        self._want_full(now, allocated)
        reason = self._reason_for_full(now, allocated, hidden=hidden)
        if reason:
            return Decision(2, reason)
        if allocated < YOUNG_OBJECTS or not self._is_short(allocated):
            return None
        together = self._middle_objects + allocated
        middle_is_due = self._young_looks >= MIDDLE_EVERY or not self._is_short(
            together + YOUNG_OBJECTS
        )
        middle = middle_is_due and self._is_short(together)
        return Decision(1 if middle else 0, "many new objects")

    def note_collection(
        self, done: Decision, now: float, allocated: int, collected: int, took_s: float
    ) -> None:
        """Update the estimates after a collection.

        Args:
            done: The decision that was carried out.
            now: The time at its end.
            allocated: The value that was passed to :meth:`decide`.
            collected: How many objects it freed.
            took_s: Its duration in seconds.
        """
        if done.generation == 2:  # noqa: PLR2004 - the oldest there is
            self._full_at, self._wanted_at = now, None
            self._young_looks = self._middle_objects = 0
            return
        looked_at = allocated + (self._middle_objects if done.generation else 0)
        if looked_at >= _LEAST_MEASURED:
            cost = took_s / looked_at
            self._object_s = _OLDER_WEIGHT * self._object_s + (1 - _OLDER_WEIGHT) * cost
        if done.generation:
            self._young_looks = self._middle_objects = 0
        else:
            self._young_looks += 1
            self._middle_objects += max(0, allocated - collected)

    def _is_short(self, objects: int) -> bool:
        return objects * self._object_s <= SHORT_S

    def _want_full(self, now: float, allocated: int) -> None:
        if self._wanted_at is None and (allocated >= FEW_OBJECTS or self._young_looks):
            self._wanted_at = now

    def _reason_for_full(self, now: float, allocated: int, *, hidden: bool) -> str:
        if allocated >= MANY_OBJECTS:
            return "too many new objects"
        if self._wanted_at is None or now - self._full_at < APART_S:
            return ""
        if hidden:
            return "the window is hidden"
        if now - self._active_at >= QUIET_S:
            return "the program was idle"
        return "postponed long enough" if now - self._wanted_at >= AT_MOST_S else ""


FAST_MS, SLOW_MS = 100, 5_000
"""Intervals of the timer: while much is allocated, and while idle."""


@contextmanager
def no_automatic_collection() -> Iterator[None]:
    """Disable automatic collection; at the end, collect and restore the previous state.

    Enter it before the first widget is created and leave it when the last one is gone.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        if was_enabled:
            gc.enable()


class MainThreadCollector(QObject):
    """Collects garbage on the main thread, triggered by a Qt timer.

    A Qt timer keeps firing in menus, while something is dragged, and while the program closes.
    Nothing but :meth:`close` stops it.

    Args:
        parent: Lives on the main thread.
        clock: Provides the time for the schedule.
    """

    def __init__(self, parent: QObject, clock: Clock) -> None:
        super().__init__(parent)
        self._clock = clock
        self._pace = CollectionSchedule(clock.monotonic())
        self._hidden: Callable[[], bool] = bool
        self._timer = QTimer(self, interval=FAST_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    def set_hidden_check(self, hidden: Callable[[], bool]) -> None:
        """Set the function that returns whether the window is hidden from the user."""
        self._hidden = hidden

    def note_activity(self) -> None:
        """Postpone collections that would be noticed during input or streaming."""
        self._pace.note_activity(self._clock.monotonic())
        if self._timer.interval() != FAST_MS:
            self._look_every(FAST_MS)

    def look(self) -> None:
        """Collect what is due."""
        now, allocated = self._clock.monotonic(), gc.get_count()[0]
        decision = self._pace.decide(now, allocated, hidden=self._hidden())
        if decision is not None:
            self._collect(decision, allocated)
            self._look_every(FAST_MS)
        elif self._timer.interval() < SLOW_MS:
            self._look_every(min(2 * self._timer.interval(), SLOW_MS))

    def close(self) -> None:
        """Stop the timer."""
        self._timer.stop()
        self.deleteLater()

    def _collect(self, decision: Decision, allocated: int) -> None:
        began = time.perf_counter()
        collected = gc.collect(decision.generation)
        took = time.perf_counter() - began
        self._pace.note_collection(decision, self._clock.monotonic(), allocated, collected, took)
        level = logging.INFO if decision.generation == 2 else logging.DEBUG  # noqa: PLR2004
        log.log(
            level,
            "Collected garbage (generation %d, %s): %d objects in %.1f ms",
            decision.generation,
            decision.reason,
            collected,
            took * 1000,
        )

    def _look_every(self, milliseconds: int) -> None:
        if self._timer.interval() == milliseconds:
            return
        slow = milliseconds == SLOW_MS
        self._timer.setTimerType(Qt.TimerType.VeryCoarseTimer if slow else Qt.TimerType.CoarseTimer)
        self._timer.setInterval(milliseconds)
