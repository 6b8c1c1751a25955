"""The Escape key for a part of the window that has the focus."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override


class EscapeFilter(QObject):
    """An event filter that handles Escape before the window's shortcut does.

    Two shortcuts for one key are ambiguous and do nothing at all.

    Args:
        part: The widget that has to have the focus.
        act: The action of Escape in that widget.
    """

    def __init__(self, part: QWidget, act: Callable[[], None]) -> None:
        super().__init__(part)
        self._act = act
        part.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.key() != Qt.Key.Key_Escape:
            return False
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if event.type() == QEvent.Type.KeyPress:
            self._act()
            return True
        return False
