"""Painting of list rows: their background, and lines of text in the direction of their letters.

A line of text is aligned with the leading edge of the window, whichever direction its letters have.
"""

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from hermes_desktop.ui.widgets.theme import RADIUS_BUTTON, Palette
from hermes_desktop.ui.words.visible_text import is_right_to_left


def paint_ground(
    painter: QPainter, option: QStyleOptionViewItem, palette: Palette, *, focused: bool
) -> None:
    """Paint a rounded background for a selected or hovered row, with a ring for the focus.

    Args:
        painter: Antialiased.
        option: The style option of the row.
        palette: Colors.
        focused: Whether a selected row has the focus ring.
    """
    state: QStyle.StateFlag = option.state
    rect: QRect = option.rect.adjusted(0, 1, 0, -1)
    chosen = bool(state & QStyle.StateFlag.State_Selected)
    if chosen or state & QStyle.StateFlag.State_MouseOver:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette.selection if chosen else palette.hover))
        painter.drawRoundedRect(rect, RADIUS_BUTTON, RADIUS_BUTTON)
    if chosen and focused:
        painter.setPen(QPen(QColor(palette.accent), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect.adjusted(1, 0, -1, 0), RADIUS_BUTTON, RADIUS_BUTTON)


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
