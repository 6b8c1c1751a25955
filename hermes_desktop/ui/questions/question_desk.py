"""Where a question is shown: on the page, or in a window of its own while that is hidden."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QMargins, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import QuestionAnswered, QuestionAsked
from hermes_desktop.services.questions_queue import Questions
from hermes_desktop.ui.chat.announcement import announce
from hermes_desktop.ui.chat.own_escape import OwnEscape
from hermes_desktop.ui.chat.sheet_place import SheetPlace
from hermes_desktop.ui.event_bridge import EventBridge
from hermes_desktop.ui.questions.question_sheet import QuestionSheet
from hermes_desktop.ui.questions.where_words import where_words
from hermes_desktop.ui.theme import Theme

_WIDTH = 620


class QuestionDialog(QDialog):
    """The same question in front of everything. Closing it answers nothing: it goes on waiting.

    Signals:
        put_off: It was closed without an answer.
    """

    put_off = Signal()

    def __init__(self, theme: Theme, now: Callable[[], float], parent: QWidget | None) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.WindowStaysOnTopHint)
        self.setWindowTitle(self.tr("Hermes Desktop asks"))
        self.setModal(False)
        self.sheet = QuestionSheet(theme, now, self)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins())
        column.addWidget(self.sheet)
        self.setMinimumWidth(_WIDTH)

    @override
    def reject(self) -> None:
        self.hide()
        self.put_off.emit()


class QuestionDesk(QObject):
    """Shows the question of the session on the page first, else the oldest.

    Args:
        questions: The queue.
        bridge: News of it.
        place: Where the sheet stands.
        window: While this is hidden, or shows something else than the place, a dialog asks.
        shown: Id of the session on the page.

    Signals:
        session_wanted: The session that a question belongs to, by its id.
        asked_unseen: A question came while the window is hidden: its text.
    """

    session_wanted = Signal(str)
    asked_unseen = Signal(str)

    def __init__(  # noqa: PLR0913 - what it stands between
        self,
        questions: Questions,
        bridge: EventBridge,
        *,
        place: SheetPlace,
        window: QWidget,
        theme: Theme,
        clock: Clock,
        shown: Callable[[], str | None],
    ) -> None:
        super().__init__(window)
        self._questions = questions
        self._window = window
        self._place = place
        self._shown = shown
        self._asked_last: dict[str, QuestionAsked] = {}
        self._over: tuple[QuestionAsked, str] | None = None
        self._put_off: set[str] = set()
        self.sheet = QuestionSheet(theme, clock.time)
        place.add(self.sheet)
        self.dialog = QuestionDialog(theme, clock.time, window)
        for sheet in (self.sheet, self.dialog.sheet):
            sheet.answered.connect(self._answer)
            sheet.closed.connect(self._close_over)
            sheet.session_wanted.connect(self.session_wanted)
        OwnEscape(self.sheet, self.sheet.escape)
        self.dialog.put_off.connect(self._put_question_off)
        bridge.question_asked.connect(self._asked)
        bridge.question_answered.connect(self._answered)
        for watched in (window, place.page):
            watched.installEventFilter(self)

    def open(self) -> None:
        """From now on a person can be asked; on the loop."""
        self._questions.open()

    def close(self) -> None:
        """Nobody is asked any more."""
        self._questions.close()
        self.dialog.hide()

    def session_shown(self) -> None:
        """Another session is on the page."""
        if self.sheet.asked is not None:
            self._show()

    def _asked(self, asked: QuestionAsked) -> None:
        self._asked_last[asked.request_id] = asked
        self._over = None
        self._show()
        announce(self.sheet, self.tr("The assistant asks: {}").format(asked.text))
        if self._is_hidden():
            self.asked_unseen.emit(asked.text)

    def _answered(self, event: QuestionAnswered) -> None:
        asked = self._asked_last.pop(event.request_id, None)
        self._put_off.discard(event.request_id)
        words = self._end_words(event)
        if asked is not None and words:
            self._over = asked, words
            announce(self.sheet, words)
        self._show()

    def _end_words(self, event: QuestionAnswered) -> str:
        if event.reason == "timeout":
            return self.tr("Nobody answered in time; the assistant goes on without an answer.")
        if event.reason == "answered" and event.by not in {"", "window"}:
            where = where_words(event.by)
            if not event.text:
                return self.tr("Skipped {}.").format(where)
            return self.tr("Answered {}: {}").format(where, event.text[:200])
        return ""

    def _answer(self, request_id: str, text: str) -> None:
        self._questions.answer(request_id, text)
        self._show()

    def _put_question_off(self) -> None:
        if self.dialog.sheet.asked is not None:
            self._put_off.add(self.dialog.sheet.asked.request_id)

    def _close_over(self) -> None:
        self._over = None
        self._show()

    def _is_hidden(self) -> bool:
        """Whether nobody can see the sheet: the window is away, or shows another page."""
        return not self._place.page.isVisible() or self._window.isMinimized()

    def _show(self) -> None:
        """Show a question that still waits, in the one place where it is seen."""
        waiting = self._questions.pending()
        if not waiting:
            self._show_none()
            return
        here = [each for each in waiting if each.session_id == self._shown()]
        asked = here[0] if here else waiting[0]
        place = (waiting.index(asked) + 1, len(waiting))
        self.sheet.show_question(asked, elsewhere=not here, place=place)
        if self._is_hidden() and asked.request_id not in self._put_off:
            self.dialog.sheet.show_question(asked, elsewhere=not here, place=place)
            self.dialog.show()
            self.dialog.raise_()
            self.dialog.activateWindow()
        else:
            self.dialog.hide()

    def _show_none(self) -> None:
        self.dialog.sheet.clear()
        self.dialog.hide()
        if self._over is None:
            self.sheet.clear()
        else:
            self.sheet.show_over(*self._over)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kinds = {QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange}
        if event.type() in kinds and self.sheet.asked is not None:
            QTimer.singleShot(0, self, self._show)
        return False
