"""List and page side by side, or, in a narrow window, one over the other."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QSplitterHandle, QWidget
from typing_extensions import override

from hermes_desktop.ui.shell.window_parts import HairlineHandle
from hermes_desktop.ui.widgets.theme import Theme

NARROW_BELOW = 900
"""Width of the window, in device-independent pixels, under which one side covers the other."""


class TwoSides(QSplitter):
    """Holds the list and the page, and knows which of them show.

    Args:
        theme: Gives the line between them its colour.
        left: The list.
        right: The page.
        left_width: Width of the list at first.
    """

    def __init__(self, theme: Theme, left: QWidget, right: QWidget, *, left_width: int) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._theme = theme
        self._left = left
        self._right = right
        self._narrow = False
        self._right_on_top = False
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.addWidget(left)
        self.addWidget(right)
        self.setStretchFactor(0, 0)
        self.setStretchFactor(1, 1)
        self.setSizes([left_width, 10 * left_width])

    @property
    def narrow(self) -> bool:
        """Whether only one side shows."""
        return self._narrow

    @property
    def right_covers(self) -> bool:
        """Whether the page stands over the list."""
        return self._narrow and self._right_on_top

    def fit(self, width: int, *, right_on_top: bool) -> bool:
        """Follow the width of the window.

        Args:
            width: Of the whole window.
            right_on_top: Which side to show when it has just become narrow.

        Returns:
            Whether it became narrow, or wide again.
        """
        narrow = width < NARROW_BELOW
        if narrow == self._narrow:
            return False
        self._narrow = narrow
        if narrow:
            self._right_on_top = right_on_top
        self._show()
        return True

    def show_left(self) -> None:
        """Make sure that the list can be seen."""
        self._right_on_top = False
        self._show()

    def show_right(self) -> None:
        """Make sure that the page can be seen."""
        self._right_on_top = True
        self._show()

    @override
    def createHandle(self) -> QSplitterHandle:
        return HairlineHandle(self._theme, self)

    def _show(self) -> None:
        self._left.setVisible(not self._narrow or not self._right_on_top)
        self._right.setVisible(not self._narrow or self._right_on_top)
