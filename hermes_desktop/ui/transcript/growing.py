"""Loading of more messages when the view is scrolled near an edge of the shown part."""

from PySide6.QtCore import QObject, Signal

from hermes_desktop.ui.transcript.column_filling import ColumnController
from hermes_desktop.ui.transcript.scroll_area import TranscriptScroll


class WindowScroller(QObject):
    """Controller that moves the window of entries when the view is scrolled.

    Args:
        area: Signals when an edge is near.
        filling: The owner of the window.

    Signals:
        older_wanted: Read messages before the given one.
        newer_wanted: Read messages after the given one.
    """

    older_wanted = Signal(object)
    newer_wanted = Signal(object)

    def __init__(self, area: TranscriptScroll, filling: ColumnController) -> None:
        super().__init__(area)
        self._area = area
        self._filling = filling
        self._loading_older = False
        self._loading_newer = False
        area.near_top.connect(self._up)
        area.near_bottom.connect(self._down)

    def reset(self) -> None:
        """Forget pending requests after a change of the conversation."""
        self._loading_older = self._loading_newer = False

    def older_done(self) -> None:
        """Record that reading older messages ended; after a failure, scrolling up tries again."""
        self._loading_older = False

    def newer_done(self) -> None:
        """Record that reading newer messages ended; after a failure, scrolling down tries again."""
        self._loading_newer = False

    def _up(self) -> None:
        window, column = self._filling.window, self._area.column
        if self._filling.fresh or not column.items or self._loading_older:
            return
        if not window.shown or column.items[0].key != window.shown[0].key:
            return  # the upper part of the window is still being built
        if window.show_older():
            self._filling.retarget()
        elif window.has_older and window.messages:
            self._loading_older = True
            self.older_wanted.emit(window.messages[0])

    def _down(self) -> None:
        window = self._filling.window
        if self._filling.fresh or not self._area.column.items:
            return
        if window.grow_down():
            self._area.stick = False
            self._filling.retarget()
        elif window.has_newer and window.messages and not self._loading_newer:
            self._loading_newer = True
            self.newer_wanted.emit(window.messages[-1])
