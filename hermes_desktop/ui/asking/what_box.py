"""The box for the requested action, in the monospaced font: as high as its text, or less."""

from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.theme import SPACE_8, Theme, fixed_font
from hermes_desktop.ui.words.visible_text import visible

MOST_LINES = 14
LEAST_LINES = 3
_MOST_CHARACTERS = 20_000
_SLACK = 3
"""Pixels that Qt needs beside lines and margins, so that one line has no scroll bar."""


class CommandBox(QPlainTextEdit):
    """A read-only text box that cannot mislead: no formats, no hidden characters."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines = 1
        self.setReadOnly(True)
        self.setFont(fixed_font())
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.document().setDocumentMargin(SPACE_8)
        make_slim(self, theme)
        self.setAccessibleName(self.tr("Requested action"))
        theme.changed.connect(self._colour)
        self._colour()

    def show_text(self, text: str) -> None:
        """Show a text from its beginning."""
        shown = "\n".join(visible(line) for line in text[:_MOST_CHARACTERS].split("\n"))
        if shown != self.toPlainText():
            self.setPlainText(shown)
            self._count()

    @override
    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height(min(self._lines, MOST_LINES)))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._height(min(self._lines, LEAST_LINES)))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._count()

    def _count(self) -> None:
        """Count the lines that the text takes at this width."""
        letter = max(self.fontMetrics().averageCharWidth(), 1)
        room = max((self.viewport().width() - 2 * SPACE_8) // letter, 20)
        lines = sum(max(1, -(-len(line) // room)) for line in self.toPlainText().split("\n"))
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()
        self.setMaximumHeight(self._height(lines))

    def _height(self, lines: int) -> int:
        return lines * self.fontMetrics().lineSpacing() + 2 * SPACE_8 + _SLACK

    def _colour(self) -> None:
        ground = self.palette()
        ground.setColor(QPalette.ColorRole.Base, QColor(self._theme.palette.code_background))
        self.setPalette(ground)
