"""A question of the assistant: its text, a button per suggested answer, a field for another one."""

from PySide6.QtCore import QEvent, QMargins, QObject, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QSizePolicy, QWidget
from typing_extensions import override

from hermes_desktop.core.user_requests import UserRequest
from hermes_desktop.ui.asking.request_area import RequestArea
from hermes_desktop.ui.widgets.control_corrections import set_text_margins
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, Theme
from hermes_desktop.ui.words.visible_text import visible

_MOST_ANSWER = 8000


class QuestionArea(RequestArea):
    """A question in plain text, and a button for each choice.

    Signals:
        chosen: The number of the choice, from 1.
    """

    chosen = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._theme = theme
        self.buttons: list[ChoiceButton] = []
        self.question = LeadingLabel()
        self.question.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.question.setMinimumHeight(1)  # otherwise the area assumes two lines and scrolls
        self.column.setSpacing(SPACE_4)
        self.column.addWidget(self.question)
        self.column.addSpacing(SPACE_4)
        self.column.addStretch(1)
        theme.changed.connect(self._colour)
        self._colour()

    def show_question(self, text: str, choices: tuple[str, ...]) -> None:
        """Show a question and its choices."""
        self.question.setText(visible_lines(text))
        for button in self.buttons:
            self.column.removeWidget(button)
            button.deleteLater()
        self.buttons = [ChoiceButton(at, words) for at, words in enumerate(choices, 1)]
        for at, button in enumerate(self.buttons, 1):
            button.clicked.connect(lambda _=False, number=at: self.chosen.emit(number))
            button.installEventFilter(self)
            self.column.insertWidget(at + 2, button)
        self.verticalScrollBar().setValue(0)
        self.updateGeometry()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        focused = next((each for each in self.buttons if each.hasFocus()), None)
        if focused is not None:
            self._bring_into_sight(focused)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn and isinstance(watched, QWidget):
            self._bring_into_sight(watched)
        return super().eventFilter(watched, event)

    def _bring_into_sight(self, button: QWidget) -> None:
        """Scroll to a choice; for the first one, show the question as well if both fit."""
        if self.buttons and button is self.buttons[0]:
            self.verticalScrollBar().setValue(0)
        self.ensureWidgetVisible(button, 0, SPACE_4)

    def _colour(self) -> None:
        tint(self.question, self._theme.palette.text)


class ChoiceButton(QPushButton):
    """A button whose text wraps.

    Args:
        number: Its number, from 1, which is also the key that chooses it.
        words: The answer, untrusted.
    """

    def __init__(self, number: int, words: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.number = QLabel(str(number))
        self.words = LeadingLabel(visible(words))
        for label in (self.number, self.words):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_12, SPACE_4, SPACE_12, SPACE_4)
        row.setSpacing(SPACE_8)
        row.addWidget(self.number)
        row.addWidget(self.words, 1)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAutoDefault(False)
        self.setAccessibleName(f"{number}: {self.words.text()}")

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        wanted = layout.totalHeightForWidth(width) if layout is not None else 0
        return max(wanted, super().sizeHint().height())

    @override
    def sizeHint(self) -> QSize:
        layout = self.layout()
        wanted = layout.totalSizeHint() if layout is not None else QSize()
        return wanted.expandedTo(QSize(0, super().sizeHint().height()))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(80, super().sizeHint().height())


class AnswerRow(QWidget):
    """A field for an answer in the user's own words, with the buttons *Answer* and *Skip*.

    Signals:
        answered: The text; "" skips the question.
    """

    answered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = QLineEdit(self)
        set_text_margins(self.field)
        self.field.setMaxLength(_MOST_ANSWER)
        self.field.setClearButtonEnabled(True)
        self.answer_button = QPushButton(self.tr("A&nswer"), self)
        self.skip_button = QPushButton(self.tr("S&kip"), self)
        row = QHBoxLayout(self)
        row.setContentsMargins(QMargins())
        row.setSpacing(SPACE_8)
        row.addWidget(self.field, 1)
        for button in (self.answer_button, self.skip_button):
            button.setAutoDefault(False)
            row.addWidget(button)
        self.field.returnPressed.connect(self._answer)
        self.field.textChanged.connect(
            lambda text: self.answer_button.setEnabled(bool(text.strip()))
        )
        self.answer_button.setEnabled(False)
        self.answer_button.clicked.connect(self._answer)
        self.skip_button.clicked.connect(lambda: self.answered.emit(""))

    def begin(self, request: UserRequest) -> None:
        """Prepare the field for another question."""
        self.field.clear()
        own = self.tr("Your own answer") if request.choices else self.tr("Your answer")
        self.field.setPlaceholderText(own)
        self.field.setAccessibleName(own)
        self.field.setAccessibleDescription(visible_lines(request.text))

    def _answer(self) -> None:
        if self.field.text().strip():
            self.answered.emit(self.field.text())


def visible_lines(text: str) -> str:
    """Return a text of several lines without hidden characters."""
    return "\n".join(visible(line) for line in text.split("\n"))
