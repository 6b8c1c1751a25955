"""The sheet for one request of the assistant: what is asked, the answers and the time left."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid
from typing_extensions import override

from hermes_desktop.core.user_requests import UserRequest
from hermes_desktop.ui.asking.approval_area import ApprovalArea
from hermes_desktop.ui.asking.countdown import CountdownBar
from hermes_desktop.ui.asking.question_area import AnswerRow, QuestionArea
from hermes_desktop.ui.widgets.centered_column import put_in_middle
from hermes_desktop.ui.widgets.flow_row import FlowRow
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, Theme
from hermes_desktop.ui.words.visible_text import visible

ARMED_AFTER_MS = 500
"""Delay that ignores keys and clicks meant for something else."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What a sheet cannot derive from the request: two sheets show it one after the other.

    Attributes:
        span: Total time to answer, in seconds.
        session: Title of its session, "" while it is not known.
    """

    span: float
    session: str = ""


class RequestSheet(QWidget):
    """A sheet for one request at a time, an approval or a question.

    Escape denies an approval and skips a question; the keys 1, 2, … choose an answer of a question.
    The sheet does not take the focus while the user is typing.

    Args:
        theme: Colors.
        now: Returns seconds since the epoch, for the countdown.

    Signals:
        answered: The id of the request, and the choice or the answer; "" skips a question.
        step_wanted: The next request (1), or the one before (-1).
        session_wanted: The id of the session that the request belongs to.
        closed: The message about a resolved request was closed.
    """

    answered = Signal(str, str)
    step_wanted = Signal(int)
    session_wanted = Signal(str)
    closed = Signal()

    def __init__(
        self, theme: Theme, now: Callable[[], float], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._now = now
        self.request: UserRequest | None = None
        self.armed = False
        self._line = "warning"
        self._focus_before: QWidget | None = None
        self.title = LeadingLabel()
        self.place = QLabel()
        self.before = _step_button("‹", self.tr("Previous request"))
        self.next = _step_button("›", self.tr("Next request"))
        self.approval = ApprovalArea(theme, self)
        self.question = QuestionArea(theme, self)
        self.own = AnswerRow(self)
        self.bar = CountdownBar(theme, now)
        self.row = FlowRow()
        self.go = QPushButton(self.tr("Open session"))
        self.close_button = QPushButton(self.tr("Close"))
        self._arming = QTimer(self, singleShot=True, interval=ARMED_AFTER_MS)
        self._arming.timeout.connect(self._arm)
        self._arrange()
        self._connect()
        self._colour()
        self.hide()

    # -------------------------------------------------------------------------------- showing
    def show_request(
        self,
        request: UserRequest,
        *,
        elsewhere: bool,
        place: tuple[int, int] = (1, 1),
        context: RequestContext | None = None,
    ) -> None:
        """Show a request.

        Args:
            request: The request.
            elsewhere: Whether it belongs to another session than the one on the page.
            place: Its number, from 1, and the total of requests.
            context: Its session and its time span; by default unnamed and starting now.
        """
        is_new = self.request is None or self.request.id != request.id
        self.request = request
        context = context or RequestContext(request.expires_at - self._now())
        self._fill(request, self._title(request, elsewhere=elsewhere), new=is_new)
        self._count(place)
        self._offer(request, answers=True, session=elsewhere)
        self.approval.show_session(context.session)
        self.question.show_session(context.session)
        if request.kind == "approval":
            self.bar.show_words(self.tr("Denied automatically in {}"), colour="warning")
        else:
            self.bar.show_words(self.tr("Continues without an answer in {}"), colour="accent")
        self.bar.run_to(request.expires_at, span=context.span)
        if is_new:
            self.armed = False
            self._arming.start()
        self.show()
        if is_new and not is_typing() and not self._is_writing_elsewhere():
            self._take_focus(self._first_answer(request))

    def show_over(self, request: UserRequest, words: str) -> None:
        """Show how a request ended that was not answered here; stays until it is closed."""
        had_focus = self._has_focus()
        self.clear()
        self._fill(request, words, new=True)
        self._count((1, 1))
        self._offer(request, answers=False, session=False)
        self.show()
        if had_focus:
            self._take_focus(self.close_button)

    def clear(self) -> None:
        """Hide the sheet; no request is pending any more."""
        self.request = None
        self.armed = False
        self._arming.stop()
        self.own.field.clear()
        self.bar.stop()
        before, self._focus_before = self._focus_before, None
        if self._has_focus() and before is not None and isValid(before):
            before.setFocus(Qt.FocusReason.OtherFocusReason)  # else it moves to an arbitrary widget
        self.hide()

    def _title(self, request: UserRequest, *, elsewhere: bool) -> str:
        if request.headline:
            headline = visible(request.headline)
            return self.tr("In another session: {}").format(headline) if elsewhere else headline
        if request.kind == "approval":
            return (
                self.tr("Allow this action in another session?")
                if elsewhere
                else self.tr("Allow this action?")
            )
        return (
            self.tr("The assistant has a question in another session")
            if elsewhere
            else self.tr("The assistant has a question")
        )

    def _fill(self, request: UserRequest, title: str, *, new: bool) -> None:
        is_approval = request.kind == "approval"
        self.title.setText(title)
        self.setAccessibleName(title)
        self.approval.setVisible(is_approval)
        self.question.setVisible(not is_approval)
        if is_approval:
            self.approval.show_request(request)
            self.setAccessibleDescription(self.approval.description)
        else:
            self.setAccessibleDescription("\n".join([request.text, *request.choices]))
            if new:
                # Without choices when it is over.
                self.question.show_question(request.text, request.choices if self.request else ())
                self.own.begin(request)
                self._set_tab_order()
        self._line = "warning" if is_approval else "accent"
        self.update()

    def _offer(self, request: UserRequest, *, answers: bool, session: bool) -> None:
        is_approval = request.kind == "approval"
        self.approval.offer(request.choices if answers and is_approval else ())
        self.own.setVisible(answers and not is_approval)
        self.go.setVisible(session)
        self.close_button.setVisible(not answers)
        self.row.settle()

    def _count(self, place: tuple[int, int]) -> None:
        number, of = place
        self.place.setText(self.tr("{} of {}").format(number, of))
        for widget in (self.place, self.before, self.next):
            widget.setVisible(of > 1)
        self.before.setEnabled(number > 1)
        self.next.setEnabled(number < of)

    # ---------------------------------------------------------------------------------- focus
    def _first_answer(self, request: UserRequest) -> QWidget:
        """Return the widget that takes the focus: the answer that does no harm."""
        if request.kind == "approval":
            return self.approval.buttons["deny"]
        return self.question.buttons[0] if self.question.buttons else self.own.field

    def _has_focus(self) -> bool:
        return self.isAncestorOf(self.window().focusWidget())

    def _is_writing_elsewhere(self) -> bool:
        """Return whether another field has the focus, such as the search, whose digits are text."""
        field = self.window().focusWidget()
        is_own = field is self.own.field
        return isinstance(field, QLineEdit) and not is_own and not field.isReadOnly()

    def _take_focus(self, widget: QWidget) -> None:
        """Move the focus to a widget and remember the widget that had it."""
        if not self._has_focus():
            self._focus_before = self.window().focusWidget()
        widget.setFocus(Qt.FocusReason.OtherFocusReason)

    # ------------------------------------------------------------------------------- answering
    def escape(self) -> None:
        """Deny or skip, for Escape and a closed dialog; a typed answer is cleared first.

        A message about a request that is over is closed.
        """
        if self.request is None:
            self.closed.emit()
        elif self.request.kind == "approval":
            self._answer("deny")
        elif self.own.field.text():
            self.own.field.clear()
        else:
            self._answer("")

    def _choose(self, number: int) -> None:
        if self.request is not None and number <= len(self.request.choices):
            self._answer(self.request.choices[number - 1])

    def _answer(self, text: str) -> None:
        if self.request is not None and self.armed:
            self.answered.emit(self.request.id, text)

    def _arm(self) -> None:
        self.armed = True

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        number = event.key() - Qt.Key.Key_0
        plain = event.modifiers() in {
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        }
        choices = len(self.question.buttons) if self.question.isVisible() else 0
        if plain and 1 <= number <= choices and not self.own.field.hasFocus():
            self._choose(number)
            return
        super().keyPressEvent(event)

    # -------------------------------------------------------------------------- construction
    def _arrange(self) -> None:
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        head = QHBoxLayout()
        head.setSpacing(SPACE_8)
        head.addWidget(self.title, 1)
        for widget in (self.place, self.before, self.next, self.bar.words):
            head.addWidget(widget)
        for button in (*self.approval.buttons.values(), self.close_button, self.go):
            self.row.add(button)
        for button in (self.close_button, self.go):
            button.setAutoDefault(False)
        column = QVBoxLayout()
        column.setSpacing(SPACE_8)
        column.addLayout(head)
        column.addWidget(self.approval, 1)
        column.addWidget(self.question, 1)
        column.addWidget(self.own)
        column.addWidget(self.bar)
        column.addWidget(self.row)
        put_in_middle(self, column, top=SPACE_12, bottom=SPACE_12)
        self._set_tab_order()

    def _set_tab_order(self) -> None:
        """Let Tab move through the answers in the order in which they are shown."""
        own = (self.own.field, self.own.answer_button, self.own.skip_button)
        first = (self.before, self.next, self.approval.what, *self.question.buttons)
        for one, other in pairwise((*first, *own, *self.row.widgets)):
            QWidget.setTabOrder(one, other)

    def _connect(self) -> None:
        self.approval.chosen.connect(self._answer)
        self.question.chosen.connect(self._choose)
        self.own.answered.connect(self._answer)
        self.before.clicked.connect(lambda: self.step_wanted.emit(-1))
        self.next.clicked.connect(lambda: self.step_wanted.emit(1))
        self.go.clicked.connect(self._go)
        self.close_button.clicked.connect(self.closed)
        self._theme.changed.connect(self._colour)

    def _go(self) -> None:
        if self.request is not None:
            self.session_wanted.emit(self.request.session_id)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette = self._theme.palette
        painter.fillRect(self.rect(), QColor(palette.raised))
        painter.fillRect(0, 0, self.width(), 2, QColor(getattr(palette, self._line)))
        painter.end()

    def _colour(self) -> None:
        palette = self._theme.palette
        tint(self.title, palette.text)
        tint(self.place, palette.secondary_text)
        self.update()


def _step_button(sign: str, name: str) -> QToolButton:
    button = QToolButton()
    button.setText(sign)
    button.setAutoRaise(True)
    button.setToolTip(name)
    button.setAccessibleName(name)
    return button


def is_typing() -> bool:
    """Return whether the user is typing a text, so that the next keys do not answer a request."""
    field = QApplication.focusWidget()
    if not isinstance(field, QPlainTextEdit | QTextEdit):
        return False
    return not field.isReadOnly() and bool(field.toPlainText().strip())
