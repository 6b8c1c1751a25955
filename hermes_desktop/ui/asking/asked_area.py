"""The scroll area for a question and its choices: as high as its content, or less."""

from PySide6.QtCore import QEvent, QMargins, QObject, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.asking.choice_button import ChoiceButton
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, Theme
from hermes_desktop.ui.words.visible_text import visible

_LEAST = 56


class QuestionArea(QScrollArea):
    """A question in plain text, and a button for each choice.

    Signals:
        chosen: The number of the choice, from 1.
    """

    chosen = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.buttons: list[ChoiceButton] = []
        self.question = LeadingLabel()
        self.question.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.question.setMinimumHeight(1)  # otherwise the area assumes two lines and scrolls
        self.body = QWidget()
        self._column = QVBoxLayout(self.body)
        self._column.setSpacing(SPACE_4)
        self._column.addWidget(self.question)
        self._column.addSpacing(SPACE_4)
        self._column.addStretch(1)
        self.setWidget(self.body)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.body.setAutoFillBackground(False)
        make_slim(self, theme, ground="raised")
        self.verticalScrollBar().rangeChanged.connect(self._keep_bar_free)
        self._keep_bar_free()
        theme.changed.connect(self._colour)
        self._colour()

    def show_question(self, text: str, choices: tuple[str, ...]) -> None:
        """Show a question and its choices."""
        self.question.setText("\n".join(visible(line) for line in text.split("\n")))
        for button in self.buttons:
            self._column.removeWidget(button)
            button.deleteLater()
        self.buttons = [ChoiceButton(at, words) for at, words in enumerate(choices, 1)]
        for at, button in enumerate(self.buttons, 1):
            button.clicked.connect(lambda _=False, number=at: self.chosen.emit(number))
            button.installEventFilter(self)
            self._column.insertWidget(at + 1, button)
        self.verticalScrollBar().setValue(0)
        self.updateGeometry()

    @override
    def sizeHint(self) -> QSize:
        width = max(self.viewport().width(), 200)
        height = self._column.totalHeightForWidth(width)
        return QSize(super().sizeHint().width(), height + 2)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(160, min(_LEAST, self.sizeHint().height()))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()  # its height depends on its width
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

    def _keep_bar_free(self) -> None:
        """Leave a gap before a visible scroll bar; without a bar the choices have no gap."""
        room = SPACE_8 if self.verticalScrollBar().maximum() else 0
        left = self.isRightToLeft()
        self._column.setContentsMargins(QMargins(room * left, 0, room * (not left), SPACE_4))

    def _colour(self) -> None:
        tint(self.question, self._theme.palette.text)
