"""Overlays of the transcript: the button to the newest message, and the veil while loading."""

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget
from typing_extensions import override

_MARGIN = 16
_LEAST = 4
"""Minimum height of an area that shows the button, as a multiple of the button's height."""
_LINE = 3


class JumpButton(QPushButton):
    """A button that is shown while the newest message is out of view."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("↓  Jump to latest", parent)
        self.setAccessibleName("Jump to the latest message")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()

    def place(self, area: QRect, *, shown: bool) -> None:
        """Place the button at the bottom center of an area; hide it if the area is too low."""
        size = self.sizeHint()
        left = area.center().x() - size.width() // 2
        top = area.bottom() - size.height() - _MARGIN
        fits = area.height() >= _LEAST * size.height()
        self.setGeometry(left, max(top, area.top()), size.width(), size.height())
        self.setVisible(shown and fits)
        self.raise_()


class Veil(QWidget):
    """A veil that grays what is below it, blocks input, and shows a progress line at the top."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._colour = QColor()
        self._greyed = False
        self.line = QProgressBar(self)
        self.line.setRange(0, 0)
        self.line.setTextVisible(False)
        self.line.setAccessibleName("Loading the session")
        self.line.hide()
        self.hide()
        over.installEventFilter(self)

    def set_state(self, *, greyed: bool, busy: bool, colour: str) -> None:
        """Set the state; the veil is hidden when neither applies."""
        self._colour = QColor(colour)
        self._colour.setAlphaF(0.55)
        self._greyed = greyed
        self.line.setVisible(busy)
        self.setVisible(greyed or busy)
        self._cover()
        self.raise_()
        self.update()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._cover()
        return False

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        if self._greyed:
            painter = QPainter(self)
            painter.fillRect(self.rect(), self._colour)
            painter.end()

    def _cover(self) -> None:
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
            self.line.setGeometry(0, 0, self.width(), _LINE)
