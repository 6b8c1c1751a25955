"""The scroll area for a question and its choices: as high as its content, or less."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from hermes_desktop.ui.asking.choice_button import ChoiceButton
from hermes_desktop.ui.asking.scrolled_area import ScrolledArea
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, Theme
from hermes_desktop.ui.words.visible_text import visible


class QuestionArea(ScrolledArea):
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
        self.question.setText("\n".join(visible(line) for line in text.split("\n")))
        for button in self.buttons:
            self.column.removeWidget(button)
            button.deleteLater()
        self.buttons = [ChoiceButton(at, words) for at, words in enumerate(choices, 1)]
        for at, button in enumerate(self.buttons, 1):
            button.clicked.connect(lambda _=False, number=at: self.chosen.emit(number))
            button.installEventFilter(self)
            self.column.insertWidget(at + 1, button)
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
