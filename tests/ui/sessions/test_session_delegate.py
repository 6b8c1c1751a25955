"""How a row is drawn behind its words."""

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from hermes_desktop.ui.sessions.session_delegate import geometry, paint_ground, row_height

WIDTH = 300
ROW_HEIGHT = 56


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


@pytest.mark.parametrize("points", [9, 16, 24])
def test_rows_do_not_collide_whatever_the_size_of_the_letters(qapp, points) -> None:
    font = qapp.font()
    font.setPointSizeF(points)
    row = QRect(0, 100, WIDTH, row_height(font))
    parts = geometry(row, font, "12:00", Qt.LayoutDirection.LeftToRight)
    assert parts.title.top() >= row.top() + 8
    assert parts.second.bottom() <= row.bottom() - 7
    assert parts.title.bottom() < parts.second.top()
