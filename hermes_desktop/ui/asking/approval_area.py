"""What an approval is about: the action, its reasons and its folder, with a button per choice."""

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QColor, QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QPushButton, QSizePolicy, QWidget
from typing_extensions import override

from hermes_desktop.core.user_requests import (
    OUTSIDE_MEANS,
    ApprovalChoice,
    RequestSubject,
    UserRequest,
)
from hermes_desktop.ui.asking.request_area import RequestArea
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, Theme, fixed_font
from hermes_desktop.ui.words.visible_text import visible

MOST_LINES = 14
LEAST_LINES = 3
_MOST_CHARACTERS = 20_000
_SLACK = 3
"""Pixels that Qt needs beside lines and margins, so that one line has no scroll bar."""


class ApprovalArea(RequestArea):
    """The details of an approval request. Its buttons are placed by the sheet.

    Attributes:
        buttons: The button of each choice.

    Signals:
        chosen: The choice.
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._theme = theme
        self.what = CommandBox(theme, self)
        self.why = LeadingLabel()
        self.where = LeadingLabel()
        self.column.setSpacing(SPACE_8)
        self.column.addWidget(self.what, 1)
        for label in (self.why, self.where):
            label.setMinimumHeight(1)  # otherwise the area assumes two lines and scrolls
            self.column.addWidget(label)
        self.buttons = {choice: QPushButton(text) for choice, text in self._words("action").items()}
        for choice, button in self.buttons.items():
            button.setAutoDefault(choice == "deny")
            button.clicked.connect(lambda _=False, chosen=choice: self.chosen.emit(chosen))
        theme.changed.connect(self._colour_labels)
        self._colour_labels()

    def show_request(self, request: UserRequest) -> None:
        """Show what is to be allowed, and why it needs approval."""
        if self.what.toPlainText() != request.text:
            self.verticalScrollBar().setValue(0)
        self.what.show_text(request.text)
        is_action = request.subject == "action"
        between = " " if is_action else "\n"
        why = between.join(visible(each) for each in request.why)
        self.why.setText(f"{why}\n{OUTSIDE_MEANS}" if "outside" in request.choices else why)
        where = self.tr("{}, in {}").format(request.tool, visible(request.where))
        self.where.setText(where if is_action else "")
        self.where.setVisible(is_action)
        for choice, words in self._words(request.subject).items():
            self.buttons[choice].setText(words)
        description = f"{self.what.toPlainText()[:500]}. {self.why.text()}"
        for button in self.buttons.values():
            button.setAccessibleDescription(description)

    def offer(self, choices: tuple[str, ...]) -> None:
        """Show the buttons of these choices only."""
        for choice, button in self.buttons.items():
            button.setVisible(choice in choices)

    def _words(self, subject: RequestSubject) -> dict[ApprovalChoice, str]:
        """Return the text of each button."""
        if subject == "action":
            return {
                "deny": self.tr("&Deny"),
                "once": self.tr("Allow &once"),
                "session": self.tr("Allow in &session"),
                "always": self.tr("&Always allow"),
                "outside": self.tr("R&un outside the sandbox, once"),
            }
        is_host = subject == "host"
        return {
            "deny": self.tr("&Deny"),
            "once": self.tr("For the next c&ommand"),
            "session": self.tr("For this &session"),
            "always": self.tr("&Always for this host")
            if is_host
            else self.tr("&Always for this path"),
        }

    @property
    def description(self) -> str:
        """The whole content as text, for screen readers."""
        return f"{self.what.toPlainText()}\n{self.why.text()}\n{self.where.text()}".rstrip()

    def _colour_labels(self) -> None:
        tint(self.why, self._theme.palette.text)
        tint(self.where, self._theme.palette.secondary_text)


class CommandBox(QPlainTextEdit):
    """A read-only box for the requested action, as high as its text, or less.

    It cannot mislead: no formats, no hidden characters.
    """

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
