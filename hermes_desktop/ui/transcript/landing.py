"""Opening of a transcript at one message: scrolling to it and highlighting it."""

from collections.abc import Iterable

from PySide6.QtCore import QRect, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from hermes_desktop.ui.transcript.entries import Entry
from hermes_desktop.ui.transcript.scroll_area import TranscriptScroll
from hermes_desktop.ui.widgets.theme import RADIUS_BLOCK, Theme

MARKED_MS = 2_500
_ROOM = 6


class Mark(QWidget):
    """A frame around one message of the column, transparent for mouse events."""

    def __init__(self, theme: Theme, column: QWidget) -> None:
        super().__init__(column)
        self._theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName(self.tr("Found message"))
        self.hide()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        accent = QColor(self._theme.palette.accent)
        painter.setPen(QPen(accent, 1.5))
        accent.setAlphaF(0.08)
        painter.setBrush(accent)
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), RADIUS_BLOCK, RADIUS_BLOCK)
        painter.end()


class ScrollTarget:
    """Controller that scrolls to the target message once it has a widget and highlights it briefly.

    Args:
        area: Shows the messages.
        theme: Colors.
    """

    def __init__(self, area: TranscriptScroll, theme: Theme) -> None:
        self._area = area
        self._key = ""
        self._shown_key = ""
        self.mark = Mark(theme, area.column)
        self._fade = QTimer(area, singleShot=True, interval=MARKED_MS)
        self._fade.timeout.connect(self.clear)
        area.column.moved.connect(self._follow)

    @property
    def aimed(self) -> bool:
        """Whether there is a target message."""
        return bool(self._key)

    def aim(self, key: str) -> None:
        """Set the key of the target entry; "" for none."""
        self.clear()
        self._key = key

    def clear(self) -> None:
        """Remove the highlight and the target."""
        self._key = self._shown_key = ""
        self._fade.stop()
        self.mark.hide()

    def lacks(self, entries: Iterable[Entry]) -> bool:
        """Return whether the target message is not among these entries."""
        return self.aimed and all(entry.key != self._key for entry in entries)

    def land(self) -> None:
        """Scroll to the target message and highlight it."""
        key, self._key = self._key, ""
        item = self._area.column.item(key)
        if item is None:
            return
        bar = self._area.verticalScrollBar()
        page = self._area.viewport().height()
        room = max(24, (page - item.height) // 3)
        self._area.stick = False
        bar.setValue(item.y - room)
        self._shown_key = key
        self._follow()
        self._fade.start()

    def _follow(self) -> None:
        item = self._area.column.item(self._shown_key) if self._shown_key else None
        if item is None:
            self.mark.hide()
            return
        place = QRect(item.widget.x(), item.y, item.widget.width(), item.height)
        self.mark.setGeometry(place.adjusted(-2 * _ROOM, -_ROOM, 2 * _ROOM, _ROOM))
        self.mark.raise_()
        self.mark.show()
