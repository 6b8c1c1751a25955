"""The presenter of questions: on the page, or in a dialog while the page is hidden."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import QuestionAnswered, QuestionAsked
from hermes_desktop.services.agents.questions_queue import Questions
from hermes_desktop.ui.asking.asking_desk import RequestPresenter
from hermes_desktop.ui.asking.question_sheet import QuestionSheet
from hermes_desktop.ui.asking.sheet_place import SheetContainer
from hermes_desktop.ui.asking.where_words import where_words
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme

_MOST_WORDS = 200


class QuestionPresenter(RequestPresenter[QuestionAsked, QuestionAnswered]):
    """Presenter of questions: those of the session on the page first, then the oldest.

    Closing the dialog leaves the question pending.

    Args:
        questions: The queue.
        bridge: The signals for its events.
        place: The container of the sheet.
        window: See :class:`RequestPresenter`, as for the rest.
        shown: Returns the id of the session on the page.

    Signals:
        asked_unseen: The text of a question that was asked while the window is hidden.
    """

    asked_unseen = Signal(str)

    def __init__(  # noqa: PLR0913 - what it stands between
        self,
        questions: Questions,
        bridge: EventBridge,
        *,
        place: SheetContainer,
        window: QWidget,
        theme: Theme,
        clock: Clock,
        shown: Callable[[], str | None],
    ) -> None:
        sheets = QuestionSheet(theme, clock.time), QuestionSheet(theme, clock.time)
        super().__init__(questions, sheets, place=place, window=window, shown=shown, now=clock.time)
        self._questions = questions
        self._put_off: set[str] = set()
        self.sheet, self.dialog_sheet = sheets
        bridge.question_asked.connect(self._begin)
        bridge.question_answered.connect(self._settle)

    @override
    def _answer(self, request_id: str, answer: str) -> None:
        self._questions.answer(request_id, answer)
        self._show()

    @override
    def _put_away(self) -> None:
        asked = self.dialog_sheet.asked
        self.dialog.hide()
        if asked is not None:
            self._put_off.add(asked.request_id)

    @override
    def _choose(self, waiting: Sequence[QuestionAsked]) -> QuestionAsked:
        here = [each for each in waiting if each.session_id == self._shown()]
        return (here or waiting)[0]

    @override
    def _in_words(self, asked: QuestionAsked) -> str:
        return asked.text

    @override
    def _end_words(self, settled: QuestionAnswered) -> str:
        if settled.reason == "timeout":
            return self.tr("The question timed out. The assistant continues without an answer.")
        if settled.reason != "answered" or settled.by in {"", "window"}:
            return ""
        where = where_words(settled.by)
        if not settled.text:
            return self.tr("Skipped {}.").format(where)
        return self.tr("Answered {}: {}").format(where, settled.text[:_MOST_WORDS])

    @override
    def _may_interrupt(self, asked: QuestionAsked) -> bool:
        return asked.request_id not in self._put_off

    @override
    def _begin(self, asked: QuestionAsked) -> None:
        super()._begin(asked)
        if self._is_hidden():
            self.asked_unseen.emit(asked.text)

    @override
    def _settle(self, settled: QuestionAnswered) -> None:
        self._put_off.discard(settled.request_id)
        super()._settle(settled)
