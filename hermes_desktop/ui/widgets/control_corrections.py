"""Corrections of Qt's controls: icons of dialog buttons, margins and caret of text fields."""

from PySide6.QtCore import QEvent, QMargins, QObject, QTimer
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QLineEdit, QMessageBox, QWidget
from typing_extensions import override


def remove_icons(buttons: QDialogButtonBox | QMessageBox) -> None:
    """Remove the icons that some desktops put on Cancel and Close, but on no other button.

    Args:
        buttons: With all its buttons added.
    """
    for button in buttons.buttons():
        button.setIcon(QIcon())


_LINE_MARGINS = QMargins(2, 0, 2, 0)
"""Added to what the style leaves; lists and combo boxes begin at the same position."""


def set_text_margins(line: QLineEdit) -> None:
    """Align the text of a line edit with that of other kinds of fields."""
    line.setTextMargins(_LINE_MARGINS)


REST_AFTER_MS = 10_000
_INPUT = frozenset({QEvent.Type.KeyPress, QEvent.Type.InputMethod, QEvent.Type.MouseButtonPress})


class RestingCaret(QObject):
    """Event filter that stops the caret of a text field blinking after ten seconds without input.

    Each blink wakes the program and repaints the field. Qt has one blink time for all fields; it is
    changed only while this field has the focus.

    Args:
        field: The text field; it owns this object.
    """

    def __init__(self, field: QWidget) -> None:
        super().__init__(field)
        self._blink_ms = 0
        self._rest = QTimer(self, singleShot=True, interval=REST_AFTER_MS)
        self._rest.timeout.connect(self._stand_still)
        field.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in _INPUT or kind == QEvent.Type.FocusIn:
            self._blink()
            self._rest.start()
        elif kind in {QEvent.Type.FocusOut, QEvent.Type.Hide}:
            self._rest.stop()
            self._blink()
        return False

    def _stand_still(self) -> None:
        self._blink_ms = QApplication.cursorFlashTime()
        QApplication.setCursorFlashTime(0)

    def _blink(self) -> None:
        if self._blink_ms > 0:
            QApplication.setCursorFlashTime(self._blink_ms)
            self._blink_ms = 0
