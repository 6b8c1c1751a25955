"""Parts of the window: the split of session list and page, and the banner of the demonstration."""

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


NARROW_BELOW = 900
"""Width of the window, in device-independent pixels, below which only one side is visible."""


class SplitView(QSplitter):
    """Holds the list and the page, and determines which of them are visible.

    Args:
        theme: Provides the color of the line between them.
        left: The list.
        right: The page.
        left_width: Initial width of the list.
    """

    def __init__(self, theme: Theme, left: QWidget, right: QWidget, *, left_width: int) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._theme = theme
        self._left = left
        self._right = right
        self._narrow = False
        self._right_on_top = False
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.addWidget(left)
        self.addWidget(right)
        self.setStretchFactor(0, 0)
        self.setStretchFactor(1, 1)
        self.setSizes([left_width, 10 * left_width])

    @property
    def narrow(self) -> bool:
        """Whether only one side is visible."""
        return self._narrow

    @property
    def right_covers(self) -> bool:
        """Whether the page covers the list."""
        return self._narrow and self._right_on_top

    def fit(self, width: int, *, right_on_top: bool) -> bool:
        """Adapt to the width of the window.

        Args:
            width: Width of the whole window.
            right_on_top: Which side to show if the window has just become narrow.

        Returns:
            Whether it became narrow, or wide again.
        """
        narrow = width < NARROW_BELOW
        if narrow == self._narrow:
            return False
        self._narrow = narrow
        if narrow:
            self._right_on_top = right_on_top
        self._show()
        return True

    def show_left(self) -> None:
        """Make the list visible."""
        self._right_on_top = False
        self._show()

    def show_right(self) -> None:
        """Make the page visible."""
        self._right_on_top = True
        self._show()

    @override
    def createHandle(self) -> QSplitterHandle:
        return HairlineHandle(self._theme, self)

    def _show(self) -> None:
        self._left.setVisible(not self._narrow or not self._right_on_top)
        self._right.setVisible(not self._narrow or self._right_on_top)
