"""Small parts of the window: the splitter handle, and the banner of the demonstration."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSplitter, QSplitterHandle, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, Theme

DEMO_WORDS = "Demonstration: a private, temporary history. Replies are scripted; no model is asked."


class HairlineHandle(QSplitterHandle):
    """One pixel in the separator's color; Qt enlarges the area in which it can be grabbed."""

    def __init__(self, theme: Theme, parent: QSplitter) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        theme.changed.connect(self.update)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self._theme.palette.separator))


class DemoBanner(QWidget):
    """A permanent note that all content is fictitious."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = QLabel()
        words = QLabel(self.tr(DEMO_WORDS))
        words.setWordWrap(True)
        line = QHBoxLayout(self)
        line.setContentsMargins(SPACE_12, SPACE_8, SPACE_12, SPACE_8)
        line.setSpacing(SPACE_8)
        line.addWidget(self._icon)
        line.addWidget(words, 1)
        theme.changed.connect(self._colour)
        self._colour()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(palette.user_block))
        painter.setPen(QColor(palette.separator))
        painter.drawLine(self.rect().bottomLeft(), self.rect().bottomRight())

    def _colour(self) -> None:
        self._icon.setPixmap(
            pixmap("info", self._theme.palette.accent, 18, self.devicePixelRatioF())
        )
