"""The status strip at the bottom: the gateway, the context usage of the session, and the model.

The gateway is a shape, its state, and the platforms with their last contact.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QLabel, QSizePolicy, QStyle, QWidget
from typing_extensions import override

from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.services.hosting.desktop_chat import ChatReadiness
from hermes_desktop.ui.chat.header.context_gauge import ContextGauge
from hermes_desktop.ui.widgets.row_painting import draw_text
from hermes_desktop.ui.widgets.state_shapes import DOT, paint_shape
from hermes_desktop.ui.widgets.theme import RADIUS_BUTTON, SPACE_4, SPACE_8, Theme
from hermes_desktop.ui.words.gateway_words import explained, shape_of, status_text
from hermes_desktop.ui.words.platform_words import brief, for_strip

_PART_GAP = " · "
_FOCUS_INSET = SPACE_8


@dataclass(frozen=True, slots=True)
class GatewayLineContent:
    """The content of the gateway line.

    Attributes:
        shape: The shape of the state.
        state: The state as text.
        platforms: One text for each platform, the most important first.
        more: Further text for the tooltip.
    """

    shape: str = "stopped"
    state: str = ""
    platforms: tuple[str, ...] = ()
    more: str = ""

    @property
    def whole(self) -> str:
        """The whole text, nothing folded."""
        return _PART_GAP.join((self.state, *self.platforms))


class GatewayLine(QAbstractButton):
    """A single target for mouse and keyboard; platforms that do not fit fold to ``+2``."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._words = GatewayLineContent()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setAccessibleDescription(self.tr("Open the Platforms page"))
        theme.changed.connect(self.update)

    @property
    def words(self) -> GatewayLineContent:
        """The content of the line."""
        return self._words

    def show_words(self, words: GatewayLineContent) -> None:
        """Show the given content; unchanged content causes no repaint."""
        if words == self._words:
            return
        self._words = words
        self.setAccessibleName(words.whole)
        self.setToolTip("\n".join(filter(None, (words.more, *words.platforms))))
        self.update()  # the strip sets the width, so that no new layout is needed

    @override
    def sizeHint(self) -> QSize:
        return QSize(240, QFontMetrics(self.font()).height() + 8)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(2 * _FOCUS_INSET + DOT, self.sizeHint().height())

    def shown_text(self) -> str:
        """Return the text that fits into the current width."""
        metrics = QFontMetrics(self.font())
        return fold(self._words, metrics, self.width() - _text_left() - _FOCUS_INSET)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        text = self.shown_text()
        width = _text_left() + QFontMetrics(self.font()).horizontalAdvance(text) + _FOCUS_INSET
        ground = self._at(QRect(0, 1, min(width, self.width()), self.height() - 2))
        if self.underMouse() or self.hasFocus():
            painter.setPen(QColor(palette.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.separator if self.underMouse() else palette.window))
            painter.drawRoundedRect(ground.adjusted(0, 0, -1, -1), RADIUS_BUTTON, RADIUS_BUTTON)
        top = (self.height() - DOT) / 2
        dot = self._at(QRect(_FOCUS_INSET, 0, DOT, DOT))
        paint_shape(painter, QRectF(dot.left(), top, DOT, DOT), self._words.shape, palette)
        painter.setPen(QColor(palette.text if self.underMouse() else palette.secondary_text))
        place = self._at(QRect(_text_left(), 0, width - _text_left(), self.height()))
        draw_text(painter, place, text, self.layoutDirection())

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.LayoutDirectionChange}:
            self.updateGeometry()
            self.update()

    def _at(self, place: QRect) -> QRect:
        return QStyle.visualRect(self.layoutDirection(), self.rect(), place)


def fold(words: GatewayLineContent, metrics: QFontMetrics, width: int) -> str:
    """Return as many platforms as fit, the others as a number; the state is elided if necessary."""
    for shown in range(len(words.platforms), -1, -1):
        text = _with(words, words.platforms[:shown])
        if metrics.horizontalAdvance(text) <= width:
            return text
    return metrics.elidedText(words.state, Qt.TextElideMode.ElideRight, max(width, 0))


def _with(words: GatewayLineContent, shown: Sequence[str]) -> str:
    hidden = len(words.platforms) - len(shown)
    parts = [words.state, *shown]
    if hidden and shown:
        return f"{_PART_GAP.join(parts)} +{hidden}"
    noun = "platform" if hidden == 1 else "platforms"
    return _PART_GAP.join([*parts, f"{hidden} {noun}"] if hidden else parts)


def _text_left() -> int:
    return _FOCUS_INSET + DOT + SPACE_4 + 2


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
