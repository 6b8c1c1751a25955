"""The gateway in the status strip: shape, state, and platforms with their last contact."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QStyle, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.leading_text import draw_text
from hermes_desktop.ui.widgets.state_shapes import DOT, paint_shape
from hermes_desktop.ui.widgets.theme import RADIUS_BUTTON, SPACE_4, SPACE_8, Theme

_GAP = " · "
_INSET = SPACE_8


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
        return _GAP.join((self.state, *self.platforms))


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
        return QSize(2 * _INSET + DOT, self.sizeHint().height())

    def shown_text(self) -> str:
        """Return the text that fits into the current width."""
        metrics = QFontMetrics(self.font())
        return fold(self._words, metrics, self.width() - _text_left() - _INSET)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        text = self.shown_text()
        width = _text_left() + QFontMetrics(self.font()).horizontalAdvance(text) + _INSET
        ground = self._at(QRect(0, 1, min(width, self.width()), self.height() - 2))
        if self.underMouse() or self.hasFocus():
            painter.setPen(QColor(palette.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.separator if self.underMouse() else palette.window))
            painter.drawRoundedRect(ground.adjusted(0, 0, -1, -1), RADIUS_BUTTON, RADIUS_BUTTON)
        top = (self.height() - DOT) / 2
        dot = self._at(QRect(_INSET, 0, DOT, DOT))
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
        return f"{_GAP.join(parts)} +{hidden}"
    noun = "platform" if hidden == 1 else "platforms"
    return _GAP.join([*parts, f"{hidden} {noun}"] if hidden else parts)


def _text_left() -> int:
    return _INSET + DOT + SPACE_4 + 2
