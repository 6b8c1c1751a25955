"""Wakes whoever shows how long ago things were; sleeps while nobody can see it."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer, Signal


class AgeTimer(QObject):
    """A coarse timer that beats only while the window shows and a moment stands in its words.

    Args:
        wanted_ms: When the words are next worth a look, 0 for never.

    Signals:
        beat: Look at the clock again.
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
        """Whether it will wake somebody."""
        return self._timer.isActive()

    def set_visible(self, visible: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """The window shows, or does not."""
        if visible != self._visible:
            self._visible = visible
            if visible:
                self._beat()
            else:
                self._timer.stop()

    def settle(self) -> None:
        """What is shown has changed: decide anew when to wake."""
        pause = self._wanted_ms() if self._visible else 0
        if not pause:
            self._timer.stop()
        elif not self._timer.isActive() or pause < self._timer.interval():
            self._timer.start(pause)

    def _beat(self) -> None:
        self.beat.emit()
        self.settle()
