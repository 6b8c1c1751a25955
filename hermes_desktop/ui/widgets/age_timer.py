"""The timer that refreshes relative times; it is stopped while the window is hidden."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer, Signal


class RelativeTimeTimer(QObject):
    """A coarse timer that runs only while the window is visible and shows a relative time.

    Args:
        wanted_ms: Returns the time until the next refresh in milliseconds, 0 for never.

    Signals:
        beat: The relative times have to be refreshed.
    """

    beat = Signal()

    def __init__(self, wanted_ms: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._wanted_ms = wanted_ms
        self._visible = False
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.CoarseTimer)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._beat)

    @property
    def running(self) -> bool:
        """Whether the timer is running."""
        return self._timer.isActive()

    def set_visible(self, visible: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Record whether the window is visible; refresh when it becomes visible."""
        if visible != self._visible:
            self._visible = visible
            if visible:
                self._beat()
            else:
                self._timer.stop()

    def settle(self) -> None:
        """Recompute the next refresh after what is shown has changed."""
        pause = self._wanted_ms() if self._visible else 0
        if not pause:
            self._timer.stop()
        elif not self._timer.isActive() or pause < self._timer.interval():
            self._timer.start(pause)

    def _beat(self) -> None:
        self.beat.emit()
        self.settle()
