"""A row of widgets that wraps to the next line when there is not enough space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRect, QSize
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.theme import SPACE_8

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent


class FlowRow(QWidget):
    """A flow layout of widgets in their own size, from the leading edge; hidden ones take no space.

    A row without any visible widget is hidden itself.

    Args:
        gap: Pixels between two widgets.
    """

    def __init__(self, parent: QWidget | None = None, *, gap: int = SPACE_8) -> None:
        super().__init__(parent)
        self._gap = gap
        self._widgets: list[QWidget] = []
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def widgets(self) -> tuple[QWidget, ...]:
        """The widgets of the row, from the leading edge."""
        return tuple(self._widgets)

    def add(self, widget: QWidget) -> None:
        """Append a widget."""
        widget.setParent(self)
        self._widgets.append(widget)

    def settle(self) -> None:
        """Lay out again after widgets were shown, hidden or renamed."""
        self.setVisible(any(not each.isHidden() for each in self._widgets))
        self._lay_out(self.width(), move=True)
        self.updateGeometry()

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        return self._lay_out(width, move=False)

    @override
    def sizeHint(self) -> QSize:
        shown = [each.sizeHint() for each in self._widgets if not each.isHidden()]
        width = sum(each.width() + self._gap for each in shown)
        return QSize(max(0, width - self._gap), max((each.height() for each in shown), default=0))

    @override
    def minimumSizeHint(self) -> QSize:
        shown = [each.sizeHint() for each in self._widgets if not each.isHidden()]
        width = max((each.width() for each in shown), default=0)
        return QSize(width, self._lay_out(max(width, self.width()), move=False))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out(self.width(), move=True)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.LayoutRequest, QEvent.Type.LayoutDirectionChange}:
            self._lay_out(self.width(), move=True)
            self.updateGeometry()
        return super().event(event)

    def _lay_out(self, width: int, *, move: bool) -> int:
        """Compute the positions and return the total height of the lines."""
        x = y = line = 0
        for widget in self._widgets:
            if widget.isHidden():
                continue
            hint = widget.sizeHint()
            if x and x + hint.width() > width:
                x, y, line = 0, y + line + SPACE_8, 0
            if move:
                left = width - x - hint.width() if self.isRightToLeft() else x
                widget.setGeometry(QRect(QPoint(left, y), hint))
            x += hint.width() + self._gap
            line = max(line, hint.height())
        return y + line
