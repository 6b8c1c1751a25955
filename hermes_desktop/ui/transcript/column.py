"""The column of messages: positions, centering, and signals around layout changes."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QWidget

from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.widgets.centered_column import MAX_WIDTH, SIDE

GAP = 16
CLOSE_GAP = 8
_SLICE_S = 0.008
"""Seconds after which laying out for a new width yields to the event loop."""


@dataclass(slots=True, eq=False)
class Item:
    """One widget of the column.

    Attributes:
        key: Unique in the column.
        entry: What the widget shows; compared to detect changes.
        gap: Pixels to the one above.
    """

    key: str
    entry: object
    widget: HeightForWidthWidget
    gap: int = GAP
    y: int = 0
    height: int = 0
    fitted_width: int = 0

    @property
    def bottom(self) -> int:
        """First pixel below it."""
        return self.y + self.height


class Column(QWidget):
    """A column that positions its items immediately and signals before and after a change.

    Signals:
        about_to_move: Heights or positions are about to change.
        moved: They have changed; the column has its new height.
    """

    about_to_move = Signal()
    moved = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.items: list[Item] = []
        self._by_key: dict[str, Item] = {}
        self._stale = QTimer(self, interval=0)
        self._stale.timeout.connect(self._fit_some)
        self._nearest: Callable[[], int] = lambda: 0
        self._foot: QWidget | None = None

    def item(self, key: str) -> Item | None:
        """Return the item of a key."""
        return self._by_key.get(key)

    def set_nearest(self, nearest: Callable[[], int]) -> None:
        """Set the callback for the visible y; items near it are laid out first on a new width."""
        self._nearest = nearest

    def set_foot(self, foot: QWidget) -> None:
        """Reserve the margin below the last item for a widget, which may come and go there."""
        foot.setParent(self)
        self._foot = foot
        self._place(len(self.items))

    @property
    def column_width(self) -> int:
        """Width in pixels of each message."""
        return max(min(self.width() - 2 * SIDE, MAX_WIDTH), 120)

    def replace(self, items: list[Item]) -> None:
        """Show exactly these items, in this order; delete widgets that are no longer among them."""
        self.about_to_move.emit()
        kept = {id(item.widget) for item in items}
        for item in self.items:
            if id(item.widget) not in kept:
                item.widget.height_changed.disconnect(self._grown)
                item.widget.hide()
                item.widget.deleteLater()
        known = {id(item.widget) for item in self.items}
        width = self.column_width
        self.items = items
        self._by_key = {item.key: item for item in items}
        for item in items:
            if id(item.widget) not in known:
                item.widget.setParent(self)
                item.widget.height_changed.connect(self._grown)
            is_new = id(item.widget) not in known
            # A row that takes over the widget of an open reply has no layout yet.
            if item.fitted_width == 0 or (is_new and item.fitted_width != width):
                self._fit(item)
        self._place()
        for item in items:
            if id(item.widget) not in known:
                item.widget.show()
        self.moved.emit()

    def set_width(self, width: int) -> None:
        """Apply the viewport's width; lay out visible items now, the rest when idle."""
        if width == self.width():
            return
        self.about_to_move.emit()
        self.resize(width, self.height())
        target = self.column_width
        near = self._nearest()
        for item in self.items:
            if item.fitted_width != target and -1200 < item.y - near < 2400:  # noqa: PLR2004
                self._fit(item)
        self._place()
        self._stale.start()
        self.moved.emit()

    def refit(self, widget: HeightForWidthWidget) -> None:
        """Lay out one item again after its content changed."""
        item = next((item for item in self.items if item.widget is widget), None)
        if item is None:
            return
        self.about_to_move.emit()
        self._fit(item)
        self._place(self.items.index(item))
        self.moved.emit()

    def _grown(self) -> None:
        widget = self.sender()
        if isinstance(widget, HeightForWidthWidget):
            self.refit(widget)

    def _fit(self, item: Item) -> None:
        item.fitted_width = self.column_width
        item.height = item.widget.fit(item.fitted_width)

    def _fit_some(self) -> None:
        target = self.column_width
        near = self._nearest()
        stale = [item for item in self.items if item.fitted_width != target]
        if not stale:
            self._stale.stop()
            return
        self.about_to_move.emit()
        end = time.perf_counter() + _SLICE_S
        for item in sorted(stale, key=lambda entry: abs(entry.y - near)):
            self._fit(item)
            if time.perf_counter() > end:
                break
        self._place()
        self.moved.emit()

    def _place(self, start: int = 0) -> None:
        """Set positions from one item on; heights are known."""
        y = self.items[start - 1].bottom if start else SIDE // 2
        for position in range(start, len(self.items)):
            item = self.items[position]
            y += item.gap if position else 0
            item.y = y
            width = item.fitted_width
            item.widget.setGeometry((self.width() - width) // 2, y, width, item.height)
            y += item.height
        self.resize(self.width(), y + self._place_foot(y))

    def _place_foot(self, y: int) -> int:
        """Place the foot below the last item, and return the height of the margin there."""
        if self._foot is None:
            return SIDE
        width, height = self.column_width, self._foot.sizeHint().height()
        self._foot.setGeometry((self.width() - width) // 2, y + CLOSE_GAP, width, height)
        return max(CLOSE_GAP + height + SIDE // 2, SIDE)
