"""One question: what, where, why it is held, how long it waits, and the four answers."""

from collections.abc import Callable

from PySide6.QtCore import QMargins, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.events import ApprovalChoice, ApprovalRequested
from hermes_desktop.ui.gateway.section_parts import LeadingLabel
from hermes_desktop.ui.scroll_bars import make_slim
from hermes_desktop.ui.theme import SPACE_4, SPACE_8, SPACE_12, SPACE_24, Theme, fixed_font
from hermes_desktop.ui.transcript.look import tint
from hermes_desktop.ui.transcript.visible_text import visible

_MOST_LINES = 8
_LEAST_LINES = 1
_LETTERS_A_LINE = 80
_MOST_CHARACTERS = 20_000
_TICK_MS = 1000


class ApprovalSheet(QWidget):
    """Shows one question at a time. Deny has the focus unless somebody types; Escape is Deny.

    Args:
        theme: Colours.
        now: Seconds since the epoch, for the countdown.

    Signals:
        answered: The id of the question, and the choice.
    """

    answered = Signal(str, str)

    def __init__(
        self, theme: Theme, now: Callable[[], float], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._now = now
        self.request: ApprovalRequested | None = None
        self.title = QLabel()
        self.what = QPlainTextEdit(self)
        self.what.setReadOnly(True)
        self.what.setFont(fixed_font())
        self.what.setFrameShape(QFrame.Shape.NoFrame)
        self.what.setTabChangesFocus(True)
        self.what.document().setDocumentMargin(SPACE_4)
        make_slim(self.what, theme)
        self.what.setAccessibleName(self.tr("What is to be done"))
        self.why = LeadingLabel()
        self.where = LeadingLabel()
        self.left = QLabel()
        self.buttons: dict[ApprovalChoice, QPushButton] = {}
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.timeout.connect(self._count_down)
        self._arrange()
        theme.changed.connect(self._colour)
        self._colour()
        self.hide()

    def _arrange(self) -> None:
        words: dict[ApprovalChoice, str] = {
            "deny": self.tr("&Deny"),
            "once": self.tr("&Once"),
            "session": self.tr("This &session"),
            "always": self.tr("&Always"),
        }
        row = QHBoxLayout()
        row.setSpacing(SPACE_8)
        for choice, text in words.items():
            button = QPushButton(text, self)
            button.setAutoDefault(choice == "deny")
            button.clicked.connect(lambda _=False, chosen=choice: self._answer(chosen))
            self.buttons[choice] = button
            row.addWidget(button)
        self.buttons["deny"].setDefault(True)
        row.addStretch(1)
        row.addWidget(self.left)
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins(SPACE_24, SPACE_12, SPACE_24, SPACE_12))
        column.setSpacing(SPACE_8)
        for widget in (self.title, self.what, self.why, self.where):
            column.addWidget(widget)
        column.addLayout(row)

    def show_request(self, request: ApprovalRequested, *, elsewhere: bool, more: int) -> None:
        """Ask this.

        Args:
            request: The question.
            elsewhere: It belongs to another conversation than the one on the page.
            more: How many questions wait behind it.
        """
        is_new = self.request is None or self.request.request_id != request.request_id
        self.request = request
        title = self.tr("May the assistant do this?")
        if elsewhere:
            title = self.tr("May the assistant do this in another conversation?")
        self.title.setText(title + (self.tr("  ({} more wait)").format(more) if more else ""))
        text = "\n".join(visible(line) for line in request.what[:_MOST_CHARACTERS].split("\n"))
        self.what.setPlainText(text)
        self._fit_what(text)
        self.why.setText(" ".join(visible(each) for each in request.why))
        self.where.setText(self.tr("{}, in {}").format(request.tool, visible(request.where)))
        for choice, button in self.buttons.items():
            button.setVisible(choice in request.choices)
        self.setAccessibleName(title)
        self.setAccessibleDescription(f"{text}\n{self.why.text()}\n{self.where.text()}")
        for button in self.buttons.values():
            button.setAccessibleDescription(f"{text[:500]}. {self.why.text()}")
        self._count_down()
        self._timer.start()
        self.show()
        if is_new and not _is_typing():
            self.buttons["deny"].setFocus(Qt.FocusReason.OtherFocusReason)

    def _fit_what(self, text: str) -> None:
        """As high as its text up to a limit, and lower where the window is: the rest scrolls."""
        lines = sum(1 + len(line) // _LETTERS_A_LINE for line in text.split("\n"))
        spacing = self.what.fontMetrics().lineSpacing()
        self.what.setMinimumHeight(min(_LEAST_LINES, lines) * spacing + 2 * SPACE_4)
        self.what.setMaximumHeight(min(_MOST_LINES, lines) * spacing + 2 * SPACE_4)

    def clear(self) -> None:
        """Nothing is asked any more."""
        self.request = None
        self._timer.stop()
        self.hide()

    def _answer(self, choice: ApprovalChoice) -> None:
        if self.request is not None:
            self.answered.emit(self.request.request_id, choice)

    def _count_down(self) -> None:
        if self.request is not None:
            seconds = max(0, round(self.request.expires_at - self._now()))
            minutes, rest = divmod(seconds, 60)
            span = f"{minutes} min {rest} s" if minutes else f"{rest} s"
            self.left.setText(self.tr("Denied by itself in {}").format(span))

    def deny(self) -> None:
        """What Escape means, and closing the window that asks."""
        self._answer("deny")

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette = self._theme.palette
        painter.fillRect(self.rect(), QColor(palette.raised))
        painter.fillRect(0, 0, self.width(), 2, QColor(palette.warning))
        painter.end()

    def _colour(self) -> None:
        palette = self._theme.palette
        ground = self.what.palette()
        ground.setColor(QPalette.ColorRole.Base, QColor(palette.code_background))
        self.what.setPalette(ground)
        tint(self.title, palette.text)
        tint(self.why, palette.text)
        tint(self.where, palette.secondary_text)
        tint(self.left, palette.secondary_text)
        self.update()


def _is_typing() -> bool:
    """Whether a person is in the middle of a text: its next keys are not for a question."""
    field = QApplication.focusWidget()
    if not isinstance(field, QPlainTextEdit | QTextEdit):
        return False
    return not field.isReadOnly() and bool(field.toPlainText().strip())
