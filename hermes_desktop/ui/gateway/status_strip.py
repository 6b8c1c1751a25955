"""The status strip at the bottom: the gateway, the context usage of the session, and the model."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget
from typing_extensions import override

from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.services.hosting.desktop_chat import ChatReadiness
from hermes_desktop.ui.chat.header.context_gauge import ContextGauge
from hermes_desktop.ui.gateway.gateway_line import GatewayLine, GatewayLineContent
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, Theme
from hermes_desktop.ui.words.gateway_words import explained, shape_of, status_text
from hermes_desktop.ui.words.platform_words import brief, for_strip

_LEAST_HEIGHT = 28


class StatusStrip(QWidget):
    """Shows the gateway's state, and the model once it is known.

    Attributes:
        context: The context usage of the shown session.

    Signals:
        gateway_wanted: The gateway was clicked; open its page.
    """

    gateway_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedHeight(max(_LEAST_HEIGHT, self.fontMetrics().height() + 2 * SPACE_4))
        self.line = GatewayLine(theme)
        self.context = ContextGauge(theme)
        self._model = QLabel()
        self._model.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_4, 2, SPACE_4, 2)
        row.setSpacing(SPACE_4)
        row.addWidget(self.line, 1)
        row.addWidget(self.context)
        row.addWidget(self._model)
        self._model.setContentsMargins(SPACE_8, 0, SPACE_8, 0)
        self.line.clicked.connect(self.gateway_wanted)
        theme.changed.connect(self._colour)
        self._colour()
        self.show_status(GatewayStatusChanged("stopped"), now=0.0)

    @property
    def text(self) -> str:
        """The whole text, state first, nothing folded."""
        parts = (self.line.words.whole, self.context.words, self._model.text())
        return " · ".join(part for part in parts if part)

    def show_status(self, status: GatewayStatusChanged, *, now: float) -> None:
        """Show the status of the gateway.

        Args:
            status: The status.
            now: Seconds since the epoch, for the age of the last contact with a platform.
        """
        platforms = status.other.platforms if status.other is not None else status.platforms
        self.line.show_words(
            GatewayLineContent(
                shape_of(status),
                status_text(status),
                tuple(brief(each, now) for each in for_strip(platforms)),
                explained(status),
            )
        )

    def show_readiness(self, readiness: ChatReadiness) -> None:
        """Show the model, or the reason why none is available."""
        before = readiness.answered_before
        words, tip = readiness.title.rstrip("."), readiness.hint
        if readiness.ready:
            words = self.tr("next: {}").format(readiness.model) if before else readiness.model
            tip = self.tr("The next message goes to {}. {} answered so far.")
            tip = tip.format(readiness.model, before) if before else ""
        self._model.setText(words)
        self._model.setToolTip(tip)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.palette.separator))
        painter.drawLine(self.rect().topLeft(), self.rect().topRight())

    def _colour(self) -> None:
        palette = QPalette(self._model.palette())
        palette.setColor(QPalette.ColorRole.WindowText, QColor(self._theme.palette.secondary_text))
        self._model.setPalette(palette)
