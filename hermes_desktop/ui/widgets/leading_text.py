"""Single lines of text at the window's leading edge, each in the direction of its own letters."""

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle

from hermes_desktop.ui.words.text_direction import is_right_to_left


def draw_text(painter: QPainter, place: QRect, text: str, direction: Qt.LayoutDirection) -> None:
    """Draw a text in the painter's font and pen, elided where there is no space.

    Args:
        painter: Its layout direction is restored.
        place: The rectangle to draw in.
        text: Plain text.
        direction: The window's layout direction, which decides the edge to align with.
    """
    edge = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
    visual = QStyle.visualAlignment(direction, edge) | Qt.AlignmentFlag.AlignAbsolute
    before = painter.layoutDirection()
    rtl = is_right_to_left(text)
    painter.setLayoutDirection(
        Qt.LayoutDirection.RightToLeft if rtl else Qt.LayoutDirection.LeftToRight
    )
    cut = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, place.width())
    painter.drawText(place, int(visual) | int(Qt.TextFlag.TextSingleLine), cut)
    painter.setLayoutDirection(before)
