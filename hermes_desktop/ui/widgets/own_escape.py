"""Escape for a part of the window, while that has the focus."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override


class OwnEscape(QObject):
    """Takes Escape before the window's shortcut does: two shortcuts for one key do nothing at all.

    Args:
        part: Where the focus has to be.
        act: What Escape does there.
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
