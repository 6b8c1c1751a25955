"""Shapes of states: disc, ring, exclamation, slash, two dots, chain. Color only repeats them."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.theme import Palette, Theme

DOT = 12
"""Edge of a shape in a line of text, in device-independent pixels."""


def paint_shape(painter: QPainter, place: QRectF, shape: str, palette: Palette) -> None:
    """Draw the shape of a state into a square.

    Args:
        painter: Antialiased; its pen and brush are changed.
        place: The square to draw in.
        shape: ``running``, ``working``, ``attention``, ``stopped``, ``connecting`` or ``attached``.
        palette: Gives the colors.
    """
    unit = place.width() / 12
    disc = place.adjusted(1.5 * unit, 1.5 * unit, -1.5 * unit, -1.5 * unit)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if shape == "running":
        painter.setBrush(QColor(palette.ok))
        painter.drawEllipse(disc)
    elif shape == "working":
        painter.setPen(QPen(QColor(palette.accent), 2.4 * unit))
        painter.drawEllipse(disc)
    elif shape == "attention":
        _paint_attention(painter, place, unit, palette)
    elif shape == "stopped":
        painter.setPen(QPen(QColor(palette.secondary_text), 1.5 * unit))
        painter.drawEllipse(disc)
        painter.drawLine(disc.bottomLeft(), disc.topRight())
    elif shape == "attached":
        _paint_chain(painter, place, palette)
    else:
        painter.setBrush(QColor(palette.warning))
        for left in (1.0, 7.0):
            painter.drawEllipse(
                QRectF(place.left() + left * unit, place.top() + 4 * unit, 4 * unit, 4 * unit)
            )


def _paint_attention(painter: QPainter, place: QRectF, unit: float, palette: Palette) -> None:
    painter.setBrush(QColor(palette.warning))
    painter.drawEllipse(place.adjusted(0.4 * unit, 0.4 * unit, -0.4 * unit, -0.4 * unit))
    painter.setPen(QPen(QColor(palette.base), 1.7 * unit, c=Qt.PenCapStyle.RoundCap))
    middle = place.center().x()
    painter.drawLine(
        QPointF(middle, place.top() + 3.3 * unit), QPointF(middle, place.top() + 6.4 * unit)
    )
    painter.drawPoint(QPointF(middle, place.top() + 8.9 * unit))


def _paint_chain(painter: QPainter, place: QRectF, palette: Palette) -> None:
    ratio = painter.device().devicePixelRatioF()
    edge = round(place.width() * 1.25)
    drawing = pixmap("link", palette.accent, edge, ratio)
    left = place.center().x() - edge / 2
    painter.drawPixmap(QPointF(left, place.center().y() - edge / 2), drawing)


class StateShape(QWidget):
    """A widget that shows the shape of a state.

    Args:
        theme: Colors.
        edge: Edge of the shape in pixels.
    """

    def __init__(self, theme: Theme, edge: int = DOT, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shape = "stopped"
        self._edge = edge
        self.setFixedSize(QSize(edge + 4, max(edge + 4, self.fontMetrics().height())))
        theme.changed.connect(self.update)

    @property
    def shape(self) -> str:
        """The name of the shape that is drawn."""
        return self._shape

    def show_shape(self, shape: str) -> None:
        """Draw another shape from now on."""
        if shape != self._shape:
            self._shape = shape
            self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        place = QRectF(2, (self.height() - self._edge) / 2, self._edge, self._edge)
        paint_shape(painter, place, self._shape, self._theme.palette)
