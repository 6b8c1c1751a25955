"""The sheet for one approval: what, where, why it is held, the time left and four answers."""

from collections.abc import Callable
from itertools import pairwise

import shiboken6
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.events import ApprovalChoice, ApprovalRequested
from hermes_desktop.ui.asking.countdown import CountdownBar
from hermes_desktop.ui.asking.request_context import RequestContext
from hermes_desktop.ui.asking.scrolled_area import ScrolledArea
from hermes_desktop.ui.asking.session_name import SessionName
from hermes_desktop.ui.asking.what_box import CommandBox
from hermes_desktop.ui.widgets.centered_column import put_in_middle
from hermes_desktop.ui.widgets.flow_row import FlowRow
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, Theme
from hermes_desktop.ui.words.visible_text import visible

ARMED_AFTER_MS = 500
"""Delay that ignores keys and clicks meant for something else."""


class ApprovalSheet(QWidget):
    """A sheet for one approval at a time; Escape denies.

    Deny takes the focus unless the user is typing.

    Args:
        theme: Colors.
        now: Returns seconds since the epoch, for the countdown.

    Signals:
        answered: The id of the approval, and the choice.
        step_wanted: The next approval (1), or the one before (-1).
        session_wanted: The id of the session that the approval belongs to.
        closed: The message about a resolved approval was closed.
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
        self.asked: ApprovalRequested | None = None
        self.armed = False
        self._before: QWidget | None = None
        self.title = LeadingLabel()
        self.place = QLabel()
        self.before = _step_button("‹", self.tr("Previous request"))
        self.next = _step_button("›", self.tr("Next request"))
        self.area = ScrolledArea(theme, self)
        self.what = CommandBox(theme, self)
        self.why = LeadingLabel()
        self.where = LeadingLabel()
        self.session = SessionName()
        self.bar = CountdownBar(theme, now, self.tr("Denied automatically in {}"))
        self.left = self.bar.words
        self.buttons: dict[ApprovalChoice, QPushButton] = {}
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
    def show_asked(
        self,
        asked: ApprovalRequested,
        *,
        elsewhere: bool,
        place: tuple[int, int] = (1, 1),
        context: RequestContext | None = None,
    ) -> None:
        """Show an approval request.

        Args:
            asked: The request.
            elsewhere: Whether it belongs to another session than the one on the page.
            place: Its number, from 1, and the total of requests.
            context: Its session and its time span; by default unnamed and starting now.
        """
        is_new = self.asked is None or self.asked.request_id != asked.request_id
        self.asked = asked
        title = self.tr("Allow this action?")
        if elsewhere:
            title = self.tr("Allow this action in another session?")
        self._fill(asked, title)
        self._count(place)
        self.go.setVisible(elsewhere)
        self.close_button.hide()
        for choice, button in self.buttons.items():
            button.setVisible(choice in asked.choices)
        self.row.settle()
        context = context or RequestContext(asked.expires_at - self._now())
        self.session.show_title(context.session)
        self.bar.run_to(asked.expires_at, span=context.span)
        self.show()
        if is_new:
            self.armed = False
            self._arming.start()
            if not is_typing():
                self._take_focus()

    def show_over(self, asked: ApprovalRequested, words: str) -> None:
        """Show how an approval ended that was not answered here; stays until it is closed."""
        self.clear()
        self._fill(asked, words)
        self._count((1, 1))
        self.go.hide()
        for button in self.buttons.values():
            button.hide()
        self.close_button.show()
        self.row.settle()
        self.show()

    def clear(self) -> None:
        """Hide the sheet; no approval is pending any more."""
        self.asked = None
        self._arming.stop()
        self.armed = False
        self.bar.stop()
        self._give_focus_back()
        self.hide()

    def _take_focus(self) -> None:
        focused = QApplication.focusWidget()
        if focused is not None and not self.isAncestorOf(focused):
            self._before = focused
        self.buttons["deny"].setFocus(Qt.FocusReason.OtherFocusReason)

    def _give_focus_back(self) -> None:
        """Return the focus to its previous widget; otherwise it would move to an arbitrary one."""
        before, self._before = self._before, None
        focused = QApplication.focusWidget()
        if before is None or focused is None or not self.isAncestorOf(focused):
            return
        if shiboken6.isValid(before):
            before.setFocus(Qt.FocusReason.OtherFocusReason)

    def escape(self) -> None:
        """Deny, for Escape and for a closed dialog; close the sheet if the request is over."""
        if self.asked is not None:
            self._answer("deny")
        else:
            self.closed.emit()

    def _answer(self, choice: ApprovalChoice) -> None:
        if self.asked is not None and self.armed:
            self.answered.emit(self.asked.request_id, choice)

    def _arm(self) -> None:
        self.armed = True

    def _fill(self, asked: ApprovalRequested, title: str) -> None:
        self.title.setText(title)
        if self.what.toPlainText() != asked.what:
            self.area.verticalScrollBar().setValue(0)
        self.what.show_text(asked.what)
        self.why.setText(" ".join(visible(each) for each in asked.why))
        self.where.setText(self.tr("{}, in {}").format(asked.tool, visible(asked.where)))
        text = self.what.toPlainText()
        self.setAccessibleName(title)
        self.setAccessibleDescription(f"{text}\n{self.why.text()}\n{self.where.text()}")
        for button in self.buttons.values():
            button.setAccessibleDescription(f"{text[:500]}. {self.why.text()}")

    def _count(self, place: tuple[int, int]) -> None:
        number, of = place
        self.place.setText(self.tr("{} of {}").format(number, of))
        for widget in (self.place, self.before, self.next):
            widget.setVisible(of > 1)
        self.before.setEnabled(number > 1)
        self.next.setEnabled(number < of)

    # -------------------------------------------------------------------------- construction
    def _arrange(self) -> None:
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        head = QHBoxLayout()
        head.setSpacing(SPACE_8)
        head.addWidget(self.title, 1)
        head.addWidget(self.place)
        head.addWidget(self.before)
        head.addWidget(self.next)
        head.addWidget(self.left)
        for widget in (self.session, self.why, self.where):
            widget.setMinimumHeight(1)  # otherwise the area assumes two lines and scrolls
        body = self.area.column
        body.setSpacing(SPACE_8)
        body.addWidget(self.session)
        body.addWidget(self.what, 1)
        body.addWidget(self.why)
        body.addWidget(self.where)
        column = QVBoxLayout()
        column.setSpacing(SPACE_8)
        column.addLayout(head)
        column.addWidget(self.area, 1)
        column.addWidget(self.bar)
        self._make_buttons()
        column.addWidget(self.row)
        put_in_middle(self, column, top=SPACE_12, bottom=SPACE_12)
        for one, other in pairwise((self.before, self.next, self.what, *self.row.widgets)):
            QWidget.setTabOrder(one, other)

    def _make_buttons(self) -> None:
        words: dict[ApprovalChoice, str] = {
            "deny": self.tr("&Deny"),
            "once": self.tr("&Once"),
            "session": self.tr("This &session"),
            "always": self.tr("&Always"),
        }
        for choice, text in words.items():
            button = QPushButton(text)
            button.setAutoDefault(choice == "deny")
            button.clicked.connect(lambda _=False, chosen=choice: self._answer(chosen))
            self.buttons[choice] = button
            self.row.add(button)
        for button in (self.close_button, self.go):
            button.setAutoDefault(False)
            self.row.add(button)

    def _connect(self) -> None:
        self.before.clicked.connect(lambda: self.step_wanted.emit(-1))
        self.next.clicked.connect(lambda: self.step_wanted.emit(1))
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
        painter.fillRect(0, 0, self.width(), 2, QColor(palette.warning))
        painter.end()

    def _colour(self) -> None:
        palette = self._theme.palette
        tint(self.title, palette.text)
        tint(self.why, palette.text)
        tint(self.place, palette.secondary_text)
        tint(self.where, palette.secondary_text)
        self.update()


def _step_button(sign: str, name: str) -> QToolButton:
    button = QToolButton()
    button.setText(sign)
    button.setAutoRaise(True)
    button.setToolTip(name)
    button.setAccessibleName(name)
    return button


def is_typing() -> bool:
    """Return whether the user is typing a text, so that the next keys do not answer a question."""
    field = QApplication.focusWidget()
    if not isinstance(field, QPlainTextEdit | QTextEdit):
        return False
    return not field.isReadOnly() and bool(field.toPlainText().strip())
