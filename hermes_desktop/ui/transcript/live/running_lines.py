"""Live updates of the lines of running tools: elapsed time and a button to stop the reply."""

import time
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject, QTimer, Signal

from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.live.live_turns import LiveTurns
from hermes_desktop.ui.transcript.scroll_area import TranscriptScroll

if TYPE_CHECKING:
    from hermes_desktop.ui.transcript.tool_fold import ToolLine

_TICK_MS = 1000


class RunningCallUpdater(QObject):
    """Controller that passes call states to their lines, once a second while any call runs.

    Args:
        area: The scroll area with the column.
        live: The turns.

    Signals:
        stop_wanted: Stop the reply that the tools run for.
    """

    stop_wanted = Signal()

    def __init__(self, area: TranscriptScroll, live: LiveTurns) -> None:
        super().__init__(area)
        self._area = area
        self._live = live
        self._lines: list[ToolLine] = []
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.timeout.connect(self._tick)

    def apply(self) -> None:
        """Update all lines."""
        now = time.time()
        running: list[ToolLine] = []
        for line, state in self._live.lines(self._shown):
            line.show_state(state, now)
            if state.running:
                running.append(line)
        for line in self._lines:
            if line not in running and shiboken6.isValid(line):  # new colors create new lines
                line.offer_stop(None)
        for number, line in enumerate(running):
            line.offer_stop(self.stop_wanted.emit if number == 0 else None)
        self._lines = running
        if running and not self._timer.isActive():
            self._timer.start()

    def forget(self) -> None:
        """Forget all lines after a change of the conversation."""
        self._lines = []
        self._timer.stop()

    def over(self, turn_id: str) -> None:
        """Reset the lines that still appear to be running after a turn has ended."""
        turn = self._live.find(turn_id)
        if turn is None:
            return
        for line, state in list(self._live.lines(self._shown)):
            if state in turn.calls and state.running:
                line.show_state(None, 0.0)
                line.offer_stop(None)
        turn.calls = [state for state in turn.calls if not state.running]
        self.apply()

    def _shown(self, key: str) -> HeightForWidthWidget | None:
        item = self._area.column.item(key)
        return item.widget if item is not None else None

    def _tick(self) -> None:
        if not self._lines:
            self._timer.stop()
        elif self._area.isVisible():
            self.apply()
