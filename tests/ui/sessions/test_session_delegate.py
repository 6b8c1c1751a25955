"""How a row is drawn behind its words."""

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from hermes_desktop.ui.sessions.session_delegate import ROW_HEIGHT, paint_ground

WIDTH = 300


@pytest.mark.parametrize(
    "direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft]
)
def test_the_bar_of_the_focus_stands_at_the_leading_edge(qapp, theme, direction) -> None:
    option = QStyleOptionViewItem()
    option.rect = QRect(0, 0, WIDTH, ROW_HEIGHT)
    option.direction = direction
    option.state = QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_HasFocus
    picture = QImage(WIDTH, ROW_HEIGHT, QImage.Format.Format_RGB32)
    picture.fill(QColor(theme.palette.base))
    painter = QPainter(picture)
    paint_ground(painter, option, theme.palette)
    painter.end()
    accent = QColor(theme.palette.accent).rgb()
    row = [picture.pixel(x, ROW_HEIGHT // 2) == accent for x in range(WIDTH)]
    half = WIDTH // 2
    leading, trailing = (row[half:], row[:half]) if direction.value else (row[:half], row[half:])
    assert any(leading)
    assert not any(trailing)
