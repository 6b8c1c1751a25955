"""The countdown of a pending request: a bar that runs out, and a label with the same time."""

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.theme import Theme

_TICK_MS = 1000
_BAR = 3
_URGENT_S = 30.0


class CountdownBar(QWidget):
    """A bar for the remaining time; its label is placed next to it.

    Attributes:
        words: The label; the owner of the bar adds it to a layout.

    Args:
        theme: Colors.
        now: Returns seconds since the epoch.
    """

    def __init__(
        self, theme: Theme, now: Callable[[], float], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._now = now
        self._sentence = "{}"
        self._calm = "warning"
        self._span = 1.0
        self._end = 0.0
        self.words = QLabel()
        self.setFixedHeight(_BAR)
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.timeout.connect(self._tick)
        theme.changed.connect(self._colour)
        self._colour()

    @property
    def share(self) -> float:
        """The remaining share of the time, 0 to 1."""
        return min(max((self._end - self._now()) / self._span, 0.0), 1.0)

    def show_words(self, sentence: str, *, colour: str) -> None:
        """Set the text of the label, and the color of the bar.

        Args:
            sentence: With ``{}`` for the time, such as "Denied automatically in {}".
            colour: Name of the palette's color; near the end it is the warning color.
        """
        self._sentence = sentence
        self._calm = colour

    def run_to(self, end: float, *, span: float) -> None:
        """Start the countdown.

        Args:
            end: When the time is over, in seconds since the epoch.
            span: The total time in seconds.
        """
        self._end, self._span = end, max(span, 1.0)
        self._timer.start()
        self._tick()
        self.show()
        self.words.show()

    def stop(self) -> None:
        """Stop the countdown and hide the bar and the label."""
        self._timer.stop()
        self.hide()
        self.words.hide()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(palette.separator))
        left = round(self.width() * self.share)
        at = self.width() - left if self.isRightToLeft() else 0
        colour = palette.warning if self._is_urgent() else getattr(palette, self._calm)
        painter.fillRect(at, 0, left, self.height(), QColor(colour))
        painter.end()

    def _tick(self) -> None:
        seconds = max(0, round(self._end - self._now()))
        minutes, rest = divmod(seconds, 60)
        self.words.setText(
            self._sentence.format(f"{minutes} min {rest} s" if minutes else f"{rest} s")
        )
        self._colour()
        self.update()

    def _colour(self) -> None:
        palette = self._theme.palette
        colour = palette.warning if self._is_urgent() else palette.secondary_text
        tint(self.words, colour)

    def _is_urgent(self) -> bool:
        return 0 < self._end - self._now() <= _URGENT_S
