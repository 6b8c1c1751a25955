"""Restyling of the transcript in new colors: visible items at once, the rest in slices."""

from PySide6.QtCore import QObject, QTimer

from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.blocks.fold import LabelRow
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.scroll_area import TranscriptScroll
from hermes_desktop.ui.transcript.separators import FailureBlock, SeparatorWidget
from hermes_desktop.ui.widgets.look import Look

Restyled = MessageWidget | SeparatorWidget | FailureBlock | LabelRow
_PER_SLICE = 6


class Restyler(QObject):
    """Controller that applies a new style to the items of a column.

    Args:
        area: The scroll area with the column; items near its position come first.
        look: The current style of all items.
    """

    def __init__(self, area: TranscriptScroll, look: Look) -> None:
        super().__init__(area)
        self._area = area
        self._look = look
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._some)

    def begin(self, look: Look) -> None:
        """Start to apply another style."""
        self._look = look
        self._timer.start()
        self._some()

    def _some(self) -> None:
        top = self._area.verticalScrollBar().value()
        stale = [item for item in self._area.column.items if _is_stale(item.widget, self._look)]
        stale.sort(key=lambda item: abs(item.y - top))
        for item in stale[:_PER_SLICE]:
            restyle(item.widget, self._look)
        if not stale:
            self._timer.stop()


def restyle(widget: HeightForWidthWidget, look: Look) -> None:
    """Apply a style to a widget, unless it has it already."""
    if isinstance(widget, Restyled) and widget.look != look:
        widget.restyle(look)


def _is_stale(widget: HeightForWidthWidget, look: Look) -> bool:
    return isinstance(widget, Restyled) and widget.look != look
