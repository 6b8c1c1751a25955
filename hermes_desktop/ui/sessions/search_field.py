"""The search field above the list: typing filters, Down and Enter move into the results."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.control_corrections import RestingCaret

_DOWN = frozenset({Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter})


class SearchField(QLineEdit):
    """A line edit that reports keys that leave it downwards.

    Signals:
        left_below: Down or Enter was pressed.
    """

    left_below = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        RestingCaret(self)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _DOWN:
            self.left_below.emit()
        else:
            super().keyPressEvent(event)
