"""Approval prompts and questions of the assistant in the window."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import ApprovalRequested, QuestionAsked
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.ui.asking.approval_desk import ApprovalPresenter
from hermes_desktop.ui.asking.question_desk import QuestionPresenter
from hermes_desktop.ui.chat.chat_page import ChatPage
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme


class Asking(QObject):
    """Joins the controllers for approvals and questions, and reports to the tray.

    Args:
        page: Shows the prompts as sheets.
        window: While it is hidden, dialogs are used instead.

    Signals:
        waiting_changed: Carries how many prompts await an answer.
        asked_unseen: A prompt was opened while the window is hidden; carries a title and a text.
        session_wanted: Carries the id of the session that a question belongs to.
    """

    waiting_changed = Signal(int)
    asked_unseen = Signal(str, str)
    session_wanted = Signal(str)

    def __init__(
        self,
        services: DesktopServices,
        bridge: EventBridge,
        *,
        page: ChatPage,
        window: QWidget,
        theme: Theme,
        clock: Clock,
    ) -> None:
        super().__init__(window)
        self._services = services
        self._slots = AsyncSlots(services.tasks, services.bus)
        self._window = window
        self._page = page

        def shown() -> str | None:
            return page.current_session_id

        self.approvals = ApprovalPresenter(
            services.approvals,
            bridge,
            place=page.sheets,
            window=window,
            theme=theme,
            clock=clock,
            shown=shown,
        )
        self.questions = QuestionPresenter(
            services.questions,
            bridge,
            place=page.sheets,
            window=window,
            theme=theme,
            clock=clock,
            shown=shown,
        )
        self._connect(bridge)

    def _connect(self, bridge: EventBridge) -> None:
        for desk in (self.approvals, self.questions):
            desk.session_wanted.connect(self.session_wanted)
            self._page.shown_changed.connect(desk.session_shown)
        self.questions.asked_unseen.connect(self._tell_question)
        bridge.approval_requested.connect(self._tell_approval)
        for asked in (bridge.approval_requested, bridge.question_asked):
            asked.connect(self._find_title)
        for news in (
            bridge.approval_requested,
            bridge.approval_resolved,
            bridge.question_asked,
            bridge.question_answered,
        ):
            news.connect(self._count)

    def open(self) -> None:
        """Start to show prompts. Call on the loop."""
        self.approvals.open()
        self.questions.open()

    def end(self) -> None:
        """End all prompts: the program ends."""
        self._services.end_asking()
        self.approvals.close()
        self.questions.close()

    def _find_title(self, asked: ApprovalRequested | QuestionAsked) -> None:
        self._slots.start(self._name(asked.session_id), doing=self.tr("Reading the session"))

    async def _name(self, session_id: str) -> None:
        try:
            summary = await self._services.catalog.summary(session_id)
        except HermesError:
            return  # a new chat, or a deleted session: it has no name
        self.approvals.name_session(session_id, summary.label)
        self.questions.name_session(session_id, summary.label)

    def _count(self, _news: object) -> None:
        services = self._services
        self.waiting_changed.emit(
            len(services.approvals.pending()) + len(services.questions.pending())
        )

    def _tell_question(self, text: str) -> None:
        self.asked_unseen.emit(self.tr("The assistant has a question"), text)

    def _tell_approval(self, request: ApprovalRequested) -> None:
        if not self._page.isVisible() or self._window.isMinimized():
            self.asked_unseen.emit(self.tr("Allow this action?"), request.what)
