"""The background of list rows."""

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from hermes_desktop.ui.widgets.theme import RADIUS_BUTTON, Palette


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
