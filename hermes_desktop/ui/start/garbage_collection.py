"""Python's cyclic garbage collector, on the main thread only.

Python runs it on whichever thread allocates. In a program with a window that is often a worker
thread, and freeing a Qt object there crashes the process.
"""

import gc
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QObject, Qt, QTimer

from hermes_desktop.core.clock import Clock
from hermes_desktop.ui.start.collection_pace import CollectionSchedule, Decision

log = logging.getLogger(__name__)

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
