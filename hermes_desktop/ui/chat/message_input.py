"""The message field: one to eight lines of plain text; Enter sends."""

import math

from PySide6.QtCore import QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QInputMethodEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.control_corrections import RestingCaret

MOST_LINES = 8
_PADDING = 7


class MessageInput(QPlainTextEdit):
    """A text field that grows with its text.

    Signals:
        send_wanted: Enter was pressed, and no input method was composing text.
    """

    send_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._composing = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.setPlaceholderText(self.tr("Write a message…"))
        self.setAccessibleName(self.tr("Message"))
        self.document().setDocumentMargin(_PADDING)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().documentLayout().documentSizeChanged.connect(self._grow)
        RestingCaret(self)
        self._grow()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
        breaks = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if not enter or self._composing:
            super().keyPressEvent(event)
        elif breaks:
            self.insertPlainText("\n")
            self.ensureCursorVisible()
        else:
            event.accept()
            self.send_wanted.emit()

    @override
    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    @override
    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText()

    @override
    def insertFromMimeData(self, source: QMimeData) -> None:
        """Insert pasted and dropped text without fonts, colors or pictures."""
        if source.hasText():
            self.insertPlainText(source.text())
            self.ensureCursorVisible()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._grow()

    @override
    def sizeHint(self) -> QSize:
        return QSize(320, self._height(1))

    def _grow(self) -> None:
        """Fit the height to the text, up to eight lines; longer text scrolls."""
        lines = math.ceil(self.document().size().height())
        shown = max(1, min(lines, MOST_LINES))
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if lines > MOST_LINES else policy.ScrollBarAlwaysOff
        )
        self.setFixedHeight(self._height(shown))

    def _height(self, lines: int) -> int:
        spacing = QFontMetricsF(self.font()).lineSpacing()
        return math.ceil(spacing * lines + 2 * _PADDING)
