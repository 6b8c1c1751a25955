"""The sheet for one question of the assistant: text, choices, answer and the time left."""

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid
from typing_extensions import override

from hermes_desktop.core.events import QuestionAsked
from hermes_desktop.ui.asking.approval_sheet import ARMED_AFTER_MS, is_typing
from hermes_desktop.ui.asking.asked_area import QuestionArea
from hermes_desktop.ui.asking.countdown import CountdownBar
from hermes_desktop.ui.asking.request_context import RequestContext
from hermes_desktop.ui.asking.session_name import SessionName
from hermes_desktop.ui.widgets.centered_column import put_in_middle
from hermes_desktop.ui.widgets.line_room import set_text_margins
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, Theme

_MOST_ANSWER = 8000


class QuestionSheet(QWidget):
    """A sheet for one question at a time. The keys 1, 2, … choose unless the user is typing.

    Args:
        theme: Colors.
        now: Returns seconds since the epoch, for the countdown.

    Signals:
        answered: The id of the question, and the answer; "" skips it.
        session_wanted: The id of the session that the question belongs to.
        closed: The message about a resolved question was closed.
    """

    answered = Signal(str, str)
    session_wanted = Signal(str)
    closed = Signal()

    def __init__(
        self, theme: Theme, now: Callable[[], float], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._now = now
        self.asked: QuestionAsked | None = None
        self.armed = False
        self._focus_before: QWidget | None = None
        self.title = LeadingLabel()
        self.session = SessionName()
        self.place = QLabel()
        self.area = QuestionArea(theme, self)
        self.field = QLineEdit(self)
        set_text_margins(self.field)
        self.field.setMaxLength(_MOST_ANSWER)
        self.field.setClearButtonEnabled(True)
        self.answer_button = QPushButton(self.tr("A&nswer"), self)
        self.skip_button = QPushButton(self.tr("S&kip"), self)
        self.go = QPushButton(self.tr("Open session"), self)
        self.close_button = QPushButton(self.tr("Close"), self)
        self.bar = CountdownBar(
            theme, now, self.tr("Continues without an answer in {}"), colour="accent"
        )
        self._arming = QTimer(self, singleShot=True, interval=ARMED_AFTER_MS)
        self._arming.timeout.connect(self._arm)
        self._arrange()
        self._connect()
        self._colour()
        self.hide()

    # -------------------------------------------------------------------------------- showing
    def show_asked(
        self,
        asked: QuestionAsked,
        *,
        elsewhere: bool,
        place: tuple[int, int] = (1, 1),
        context: RequestContext | None = None,
    ) -> None:
        """Show a question.

        Args:
            asked: The question.
            elsewhere: Whether it belongs to another session than the one on the page.
            place: Its number, from 1, and the total of questions.
            context: Its session and its time span; by default unnamed and starting now.
        """
        is_new = self.asked is None or self.asked.request_id != asked.request_id
        self.asked = asked
        title = self.tr("The assistant has a question")
        if elsewhere:
            title = self.tr("The assistant has a question in another session")
        self._name(title, asked)
        number, of = place
        self.place.setText(self.tr("{} of {}").format(number, of) if of > 1 else "")
        self.go.setVisible(elsewhere)
        self._offer(asked=True)
        context = context or RequestContext(asked.expires_at - self._now())
        self.session.show_title(context.session)
        self.bar.run_to(asked.expires_at, span=context.span)
        if is_new:
            self._begin(asked)
        self.show()
        if is_new and not is_typing() and not self._is_writing_elsewhere():
            self._take_focus(self.area.buttons[0] if self.area.buttons else self.field)

    def show_over(self, asked: QuestionAsked, words: str) -> None:
        """Show how a question ended that was not answered here; stays until it is closed."""
        had_focus = self._has_focus()
        self.clear()
        self._name(words, asked)
        self.area.show_question(asked.text, ())
        self.place.clear()
        self.go.hide()
        self._offer(asked=False)
        self.show()
        if had_focus:
            self._take_focus(self.close_button)

    def clear(self) -> None:
        """Hide the sheet; no question is pending any more."""
        self.asked = None
        self.armed = False
        self._arming.stop()
        self.field.clear()
        self.bar.stop()
        before = self._focus_before
        if self._has_focus() and before is not None and isValid(before):
            before.setFocus(Qt.FocusReason.OtherFocusReason)
        self.hide()

    def _has_focus(self) -> bool:
        return self.isAncestorOf(self.window().focusWidget())

    def _is_writing_elsewhere(self) -> bool:
        """Return whether another field has the focus, such as the search, whose digits are text."""
        field = self.window().focusWidget()
        return isinstance(field, QLineEdit) and field is not self.field and not field.isReadOnly()

    def _take_focus(self, widget: QWidget) -> None:
        """Move the focus to a widget and remember the widget that had it."""
        if not self._has_focus():
            self._focus_before = self.window().focusWidget()
        widget.setFocus(Qt.FocusReason.OtherFocusReason)

    def _begin(self, asked: QuestionAsked) -> None:
        """Prepare the sheet for a question that was not shown before."""
        self.armed = False
        self._arming.start()
        self.area.show_question(asked.text, asked.choices)
        self.field.clear()
        own = self.tr("Your own answer") if asked.choices else self.tr("Your answer")
        self.field.setPlaceholderText(own)
        self.field.setAccessibleName(own)
        self.field.setAccessibleDescription(self.area.question.text())

    def _name(self, title: str, asked: QuestionAsked) -> None:
        self.title.setText(title)
        self.setAccessibleName(title)
        self.setAccessibleDescription("\n".join([asked.text, *asked.choices]))

    def _offer(self, *, asked: bool) -> None:
        for widget in (self.field, self.answer_button, self.skip_button):
            widget.setVisible(asked)
        self.close_button.setVisible(not asked)

    # ------------------------------------------------------------------------------- answering
    def skip(self) -> None:
        """Skip the question; the assistant continues without an answer."""
        self._answer("")

    def escape(self) -> None:
        """Clear a typed answer, else skip the question; close the sheet if the question is over."""
        if self.asked is None:
            self.closed.emit()
        elif self.field.text():
            self.field.clear()
        else:
            self.skip()

    def _choose(self, number: int) -> None:
        if self.asked is not None and number <= len(self.asked.choices):
            self._answer(self.asked.choices[number - 1])

    def _answer_own(self) -> None:
        if self.field.text().strip():
            self._answer(self.field.text())

    def _answer(self, text: str) -> None:
        if self.asked is not None and self.armed:
            self.answered.emit(self.asked.request_id, text)

    def _arm(self) -> None:
        self.armed = True

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        number = event.key() - Qt.Key.Key_0
        plain = event.modifiers() in {
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        }
        if plain and 1 <= number <= len(self.area.buttons) and not self.field.hasFocus():
            self._choose(number)
            return
        super().keyPressEvent(event)

    # -------------------------------------------------------------------------- construction
    def _arrange(self) -> None:
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        head = QHBoxLayout()
        head.setSpacing(SPACE_12)
        head.addWidget(self.title, 1)
        head.addWidget(self.place)
        head.addWidget(self.bar.words)
        own = QHBoxLayout()
        own.setSpacing(SPACE_8)
        own.addWidget(self.field, 1)
        own.addWidget(self.answer_button)
        own.addWidget(self.skip_button)
        last = QHBoxLayout()
        last.setSpacing(SPACE_8)
        for button in (self.close_button, self.go):
            last.addWidget(button)
        last.addStretch(1)
        column = QVBoxLayout()
        column.setSpacing(SPACE_8)
        column.addLayout(head)
        column.addWidget(self.session)
        column.addWidget(self.area, 1)
        column.addLayout(own)
        column.addWidget(self.bar)
        column.addLayout(last)
        put_in_middle(self, column, top=SPACE_12, bottom=SPACE_12)

    def _connect(self) -> None:
        for button in (self.answer_button, self.skip_button, self.go, self.close_button):
            button.setAutoDefault(False)
        self.area.chosen.connect(self._choose)
        self.field.returnPressed.connect(self._answer_own)
        self.field.textChanged.connect(
            lambda text: self.answer_button.setEnabled(bool(text.strip()))
        )
        self.answer_button.setEnabled(False)
        self.answer_button.clicked.connect(self._answer_own)
        self.skip_button.clicked.connect(self.skip)
        self.go.clicked.connect(self._go)
        self.close_button.clicked.connect(self.closed)
        self._theme.changed.connect(self._colour)

    def _go(self) -> None:
        if self.asked is not None:
            self.session_wanted.emit(self.asked.session_id)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette = self._theme.palette
        painter.fillRect(self.rect(), QColor(palette.raised))
        painter.fillRect(0, 0, self.width(), 2, QColor(palette.accent))
        painter.end()

    def _colour(self) -> None:
        palette = self._theme.palette
        tint(self.title, palette.text)
        tint(self.place, palette.secondary_text)
        self.update()
