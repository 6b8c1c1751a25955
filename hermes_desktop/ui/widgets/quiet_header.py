"""The header of a read-only table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QHeaderView, QStyle, QTableView
from typing_extensions import override

from hermes_desktop.ui.widgets.leading_text import draw_text
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8

if TYPE_CHECKING:
    from hermes_desktop.ui.widgets.theme import Theme

ARROW = 14


class QuietHeader(QHeaderView):
    """A header with secondary-colored text above a hairline; the sorted column has an arrow.

    Args:
        theme: Colors.
        parent: The table whose columns are named.
    """

    def __init__(self, theme: Theme, parent: QTableView) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        theme.changed.connect(self.viewport().update)

    @override
    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        palette, direction = self._theme.palette, self.layoutDirection()
        painter.save()
        painter.fillRect(rect, QColor(palette.base))
        painter.setPen(QColor(palette.separator))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.setPen(QColor(palette.secondary_text))
        words = str(self.model().headerData(logicalIndex, Qt.Orientation.Horizontal) or "")
        draw_text(painter, inside(rect, direction), words, direction)
        if logicalIndex == self.sortIndicatorSection() and self.isSortIndicatorShown():
            up = self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
            left = SPACE_8 + painter.fontMetrics().horizontalAdvance(words) + 2
            top = (rect.height() - ARROW) // 2
            place = QRect(rect.left() + left, rect.top() + top, ARROW, ARROW)
            name = "chevron-up" if up else "chevron-down"
            ratio = float(painter.device().devicePixelRatioF())
            drawing = pixmap(name, palette.secondary_text, ARROW, ratio)
            painter.drawPixmap(QStyle.visualRect(direction, rect, place), drawing)
        painter.restore()


def inside(rect: QRect, direction: Qt.LayoutDirection) -> QRect:
    """Return a rectangle without its margins at the leading and trailing edges."""
    return QStyle.visualRect(direction, rect, rect.adjusted(SPACE_8, 0, -SPACE_4, 0))
