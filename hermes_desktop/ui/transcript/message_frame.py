"""The frame of a message: name and time, and the colored block behind the user's messages."""

from datetime import datetime

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget
from typing_extensions import override

from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget, Stack
from hermes_desktop.ui.transcript.time_text import clock_time, full_time
from hermes_desktop.ui.widgets.look import Look, scaled, tint
from hermes_desktop.ui.widgets.theme import RADIUS_BLOCK

_HEADER = 22
TINT_SIDE = 12


class HeaderRow(HeightForWidthWidget):
    """The header of a message: ``Hermes · 14:02``."""

    def __init__(self, name: str, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(QMargins())
        row.setSpacing(5)
        self.name = QLabel(name, self)
        self.time = QLabel(self)
        for label in (self.name, self.time):
            label.setTextFormat(Qt.TextFormat.PlainText)
            row.addWidget(label)
        row.addStretch(1)
        self.restyle(look)

    def restyle(self, look: Look) -> None:
        """Apply other colors."""
        self.name.setFont(scaled(look.caption_font, 1.0, weight=QFont.Weight.DemiBold))
        self.time.setFont(look.caption_font)
        tint(self.name, look.palette.text)
        tint(self.time, look.palette.secondary_text)

    def set_moment(self, moment: datetime | None) -> None:
        """Show the time."""
        written = clock_time(moment)
        self.time.setText(f"· {written}" if written else "")
        self.setToolTip(full_time(moment))

    @override
    def fit(self, width: int) -> int:
        return _HEADER


class TintedBlock(Stack):
    """Rows on a rounded block of color."""

    def __init__(self, colour: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.colour = colour
        self.set_margins(QMargins(TINT_SIDE, 9, TINT_SIDE, 9))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.colour))
        painter.drawRoundedRect(self.rect(), RADIUS_BLOCK, RADIUS_BLOCK)
        painter.end()
