"""The strip at the foot: what the gateway does, and which model would answer."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget
from typing_extensions import override

from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.services.desktop_chat import ChatReadiness
from hermes_desktop.ui.theme import SPACE_4, SPACE_8, SPACE_12, Theme
from hermes_desktop.ui.tray_state import status_words

_DOT = 10


class StateDot(QWidget):
    """The state of the gateway as a shape: disc, ring, struck-through circle, two dots."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state = "stopped"
        self.setFixedSize(QSize(_DOT + 2, _DOT + 2))
        theme.changed.connect(self.update)

    def show_state(self, state: str) -> None:
        """Draw this state from now on."""
        self._state = state
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        disc = QRectF(2, 2, _DOT - 2, _DOT - 2)
        painter.setPen(Qt.PenStyle.NoPen)
        if self._state == "running":
            painter.setBrush(QColor(palette.ok))
            painter.drawEllipse(disc)
        elif self._state == "working":
            painter.setPen(QPen(QColor(palette.accent), 2.4))
            painter.drawEllipse(disc)
        elif self._state == "stopped":
            painter.setPen(QPen(QColor(palette.secondary_text), 1.5))
            painter.drawEllipse(disc)
            painter.drawLine(disc.bottomLeft(), disc.topRight())
        else:
            painter.setBrush(QColor(palette.warning))
            for left in (1.0, 7.0):
                painter.drawEllipse(QRectF(left, 4, 4, 4))


class StatusStrip(QWidget):
    """Shows only what there is: the gateway's state, and the model once it is known."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedHeight(28)
        self._dot = StateDot(theme)
        self._state = QLabel()
        self._state.setTextFormat(Qt.TextFormat.PlainText)
        self._model = QLabel()
        self._model.setTextFormat(Qt.TextFormat.PlainText)
        line = QHBoxLayout(self)
        line.setContentsMargins(SPACE_12, SPACE_4, SPACE_12, SPACE_4)
        line.setSpacing(SPACE_8)
        line.addWidget(self._dot)
        line.addWidget(self._state)
        line.addStretch(1)
        line.addWidget(self._model)
        theme.changed.connect(self._colour)
        self._colour()
        self.show_status(GatewayStatusChanged("stopped"))

    @property
    def text(self) -> str:
        """The words shown, state first."""
        return " · ".join(part for part in (self._state.text(), self._model.text()) if part)

    def show_status(self, status: GatewayStatusChanged) -> None:
        """Follow the gateway."""
        self._dot.show_state(status.state)
        self._state.setText(status_words(status))
        self._state.setToolTip(status.detail)

    def show_readiness(self, readiness: ChatReadiness) -> None:
        """Name the model, or say why none can be asked."""
        self._model.setText(readiness.model if readiness.ready else readiness.title.rstrip("."))
        self._model.setToolTip("" if readiness.ready else readiness.hint)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.palette.separator))
        painter.drawLine(self.rect().topLeft(), self.rect().topRight())

    def _colour(self) -> None:
        quiet = QColor(self._theme.palette.secondary_text)
        for label in (self._state, self._model):
            palette = QPalette(label.palette())
            palette.setColor(QPalette.ColorRole.WindowText, quiet)
            label.setPalette(palette)
