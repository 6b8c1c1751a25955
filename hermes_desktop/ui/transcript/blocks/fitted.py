"""Widgets that return their height for a given width immediately.

Qt's layouts settle later in the event loop; a transcript that keeps its scroll position while rows
above change must know all heights before the next paint.
"""

from PySide6.QtCore import QMargins, Signal
from PySide6.QtWidgets import QWidget
from typing_extensions import override


class HeightForWidthWidget(QWidget):
    """A widget whose height depends on its width.

    Signals:
        height_changed: The height differs from what :meth:`fit` last returned, without a call of
            it.
    """

    height_changed = Signal()

    def fit(self, width: int) -> int:
        """Lay out for a width in pixels.

        Returns:
            The height in pixels; the caller sets the geometry.
        """
        raise NotImplementedError


class Stack(HeightForWidthWidget):
    """A vertical stack of fitted widgets."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[tuple[HeightForWidthWidget, int]] = []
        self._margins = QMargins()
        self._width = 0
        self._fitting = False

    def set_margins(self, margins: QMargins) -> None:
        """Set the margins around the rows; they apply from the next fit."""
        self._margins = margins

    @property
    def rows(self) -> tuple[HeightForWidthWidget, ...]:
        """The widgets from top to bottom."""
        return tuple(row for row, _ in self._rows)

    def add_row(self, row: HeightForWidthWidget, *, gap: int = 0, at: int | None = None) -> None:
        """Add a widget, ``gap`` pixels below the one before."""
        position = len(self._rows) if at is None else at
        self._rows.insert(position, (row, gap))
        row.setParent(self)
        row.height_changed.connect(self._row_changed)
        row.show()

    def remove_row(self, row: HeightForWidthWidget) -> None:
        """Remove and delete a widget."""
        self._rows = [entry for entry in self._rows if entry[0] is not row]
        row.height_changed.disconnect(self._row_changed)
        row.hide()
        row.deleteLater()

    @override
    def fit(self, width: int) -> int:
        self._width = width
        self._fitting = True
        margins = self._margins
        inner = max(width - margins.left() - margins.right(), 1)
        y = margins.top()
        first = True
        for row, gap in self._rows:
            if row.isHidden():
                continue
            y += 0 if first else gap
            height = row.fit(inner)
            row.setGeometry(margins.left(), y, inner, height)
            y += height
            first = False
        self._fitting = False
        return y + margins.bottom()

    def refit(self) -> None:
        """Lay out again after a change inside, and notify the owner of a new height."""
        if self._width and not self._fitting:
            height = self.fit(self._width)
            if height != self.height():
                self.resize(self._width, height)
                self.height_changed.emit()

    def _row_changed(self) -> None:
        self.refit()
