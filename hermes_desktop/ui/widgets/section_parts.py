"""Building blocks of pages: bordered blocks, headings and secondary labels."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.theme import RADIUS_BLOCK, SPACE_8, SPACE_12, SPACE_16, Theme


class Block(QWidget):
    """A rounded border around related content.

    Attributes:
        column: The layout for the content.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(SPACE_16, SPACE_12, SPACE_16, SPACE_12)
        self.column.setSpacing(SPACE_8)
        theme.changed.connect(self.update)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.palette.separator), 1.0))
        painter.setBrush(QColor(self._theme.palette.base))
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), RADIUS_BLOCK, RADIUS_BLOCK)


class LeadingLabel(QLabel):
    """A wrapping plain-text label aligned with the window's leading edge, whatever its script."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self._align()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LayoutDirectionChange:
            self._align()

    def _align(self) -> None:
        edge = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
        visual = QStyle.visualAlignment(self.layoutDirection(), edge)
        self.setAlignment(visual | Qt.AlignmentFlag.AlignAbsolute)


class ElidedLabel(LeadingLabel):
    """A label of one line that ends with an ellipsis where there is not enough room."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setWordWrap(False)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def shown_text(self) -> str:
        """Return the text that fits."""
        room = self.contentsRect().width()
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.style().drawItemText(
            painter,
            self.contentsRect(),
            int(self.alignment()),
            self.palette(),
            self.isEnabled(),
            self.shown_text(),
            self.foregroundRole(),
        )


class SecondaryLabel(LeadingLabel):
    """A selectable plain-text label in the secondary color of the theme."""

    def __init__(self, theme: Theme, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._theme = theme
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        theme.changed.connect(self._colour)
        self._colour()

    def _colour(self) -> None:
        tint(self, self._theme.palette.secondary_text)


def heading_label(text: str = "", *, share: float = 1.0) -> LeadingLabel:
    """Return a semibold label for a title or a heading."""
    label = LeadingLabel(text)
    font = QFont(label.font())
    font.setWeight(QFont.Weight.DemiBold)
    font.setPointSizeF(font.pointSizeF() * share)
    label.setFont(font)
    return label
