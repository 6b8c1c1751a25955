"""Approval prompts and questions of the assistant in the window."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.user_requests import RequestPending
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.ui.asking.request_presenter import RequestPresenter
from hermes_desktop.ui.chat.chat_page import ChatPage
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme


class Asking(QObject):
    """Controller of pending approvals and questions: names their sessions, reports to the tray.

    Args:
        page: Shows the request as a sheet.
        window: While it is hidden, a dialog is used instead.

    Signals:
        waiting_changed: Carries how many requests await an answer.
        asked_unseen: A request arrived while the window is hidden; carries a title and a text.
        session_wanted: Carries the id of the session that a request belongs to.
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
        self.presenter = RequestPresenter(
            services.requests,
            bridge,
            place=page.sheets,
            window=window,
            theme=theme,
            clock=clock,
            shown=lambda: page.current_session_id,
        )
        self.presenter.session_wanted.connect(self.session_wanted)
        self.presenter.asked_unseen.connect(self.asked_unseen)
        page.shown_changed.connect(self.presenter.session_shown)
        bridge.request_pending.connect(self._find_title)
        for signal in bridge.request_signals:
            signal.connect(self._count)

    def open(self) -> None:
        """Start to show requests. Call on the loop."""
        self.presenter.open()

    def end(self) -> None:
        """End all requests: the program ends."""
        self._services.requests.end()
        self.presenter.close()

    def _find_title(self, event: RequestPending) -> None:
        session_id = event.request.session_id
        self._slots.start(self._name(session_id), doing=self.tr("Reading the session"))

    async def _name(self, session_id: str) -> None:
        try:
            summary = await self._services.catalog.summary(session_id)
        except HermesError:
            return  # a new chat, or a deleted session: it has no name
        self.presenter.name_session(session_id, summary.label)

    def _count(self, _event: object) -> None:
        self.waiting_changed.emit(len(self._services.requests.pending()))
