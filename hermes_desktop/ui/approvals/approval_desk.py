"""Where a question is shown: on the page, or in a window of its own while that is hidden."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QMargins, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import ApprovalRequested, ApprovalResolved
from hermes_desktop.services.approvals_queue import Approvals
from hermes_desktop.ui.approvals.approval_sheet import ApprovalSheet
from hermes_desktop.ui.chat.announcement import announce
from hermes_desktop.ui.chat.own_escape import OwnEscape
from hermes_desktop.ui.chat.sheet_place import SheetPlace
from hermes_desktop.ui.event_bridge import EventBridge
from hermes_desktop.ui.questions.where_words import where_words
from hermes_desktop.ui.theme import Theme

_WIDTH = 620


class ApprovalDialog(QDialog):
    """The same question in front of everything; closing it is a denial."""

    def __init__(self, theme: Theme, now: Callable[[], float], parent: QWidget | None) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.WindowStaysOnTopHint)
        self.setWindowTitle(self.tr("Hermes Desktop asks"))
        self.setModal(False)
        self.sheet = ApprovalSheet(theme, now, self)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins())
        column.addWidget(self.sheet)
        self.setMinimumWidth(_WIDTH)

    @override
    def reject(self) -> None:
        self.sheet.deny()


class ApprovalDesk(QObject):
    """Shows the oldest question first; those behind it can be looked at before.

    Args:
        approvals: The queue.
        bridge: News of it.
        place: Where the sheet stands.
        window: While this is hidden, or shows something else than the place, a dialog asks.
        shown: Id of the session on the page.

    Signals:
        session_wanted: The session that a question belongs to, by its id.
    """

    session_wanted = Signal(str)

    def __init__(  # noqa: PLR0913 - what it stands between
        self,
        approvals: Approvals,
        bridge: EventBridge,
        *,
        place: SheetPlace,
        window: QWidget,
        theme: Theme,
        clock: Clock,
        shown: Callable[[], str | None],
    ) -> None:
        super().__init__(window)
        self._approvals = approvals
        self._window = window
        self._page = place.page
        self._shown = shown
        self._looked_at = ""
        self._asked_last: dict[str, ApprovalRequested] = {}
        self._over: tuple[ApprovalRequested, str] | None = None
        self.sheet = ApprovalSheet(theme, clock.time)
        place.add(self.sheet)
        self.dialog = ApprovalDialog(theme, clock.time, window)
        for sheet in (self.sheet, self.dialog.sheet):
            sheet.answered.connect(self._answer)
            sheet.step_wanted.connect(self._step)
            sheet.closed.connect(self._close_over)
            sheet.session_wanted.connect(self.session_wanted)
        OwnEscape(self.sheet, self.sheet.deny)
        bridge.approval_requested.connect(self._asked)
        bridge.approval_resolved.connect(self._resolved)
        for watched in (window, self._page):
            watched.installEventFilter(self)

    def open(self) -> None:
        """From now on a person can be asked; on the loop."""
        self._approvals.open()

    def close(self) -> None:
        """Nobody is asked any more."""
        self._approvals.close()
        self.dialog.hide()

    def session_shown(self) -> None:
        """Another session is on the page."""
        if self.sheet.request is not None:
            self._show()

    def _asked(self, request: ApprovalRequested) -> None:
        self._asked_last[request.request_id] = request
        self._over = None
        self._show()
        announce(self.sheet, self.tr("The assistant asks: {}").format(" ".join(request.why)))

    def _resolved(self, event: ApprovalResolved) -> None:
        request = self._asked_last.pop(event.request_id, None)
        words = self._end_words(event)
        if request is not None and words:
            self._over = request, words
            announce(self.sheet, words)
        self._show()

    def _end_words(self, event: ApprovalResolved) -> str:
        if event.reason == "timeout":
            return self.tr("Denied, because nobody answered in time.")
        if event.reason != "answered" or event.by in {"", "window"}:
            return ""
        done = {
            "once": self.tr("allowed once"),
            "session": self.tr("allowed in this session"),
            "always": self.tr("allowed for always"),
            "deny": self.tr("denied"),
        }
        return self.tr("Answered {}: {}.").format(where_words(event.by), done[event.choice])

    def _answer(self, request_id: str, choice: str) -> None:
        if choice in {"once", "session", "always", "deny"}:
            self._approvals.answer(request_id, choice)  # type: ignore[arg-type]
        self._show()

    def _step(self, by: int) -> None:
        waiting = self._approvals.pending()
        at = self._at(waiting) + by
        if 0 <= at < len(waiting):
            self._looked_at = waiting[at].request_id
            self._show()

    def _at(self, waiting: tuple[ApprovalRequested, ...]) -> int:
        """Which one is looked at: the oldest unless the person went on from it."""
        ids = [each.request_id for each in waiting]
        return ids.index(self._looked_at) if self._looked_at in ids else 0

    def _close_over(self) -> None:
        self._over = None
        self._show()

    def _show(self) -> None:
        """Show a question that still waits, in the one place where it is seen."""
        waiting = self._approvals.pending()
        if not waiting:
            self._show_none()
            return
        at = self._at(waiting)
        request, place = waiting[at], (at + 1, len(waiting))
        elsewhere = request.session_id != self._shown()
        self.sheet.show_request(request, elsewhere=elsewhere, place=place)
        if not self._page.isVisible() or self._window.isMinimized():
            self.dialog.sheet.show_request(request, elsewhere=False, place=place)
            self.dialog.show()
            self.dialog.raise_()
            self.dialog.activateWindow()
        else:
            self.dialog.hide()

    def _show_none(self) -> None:
        self._looked_at = ""
        self.dialog.sheet.clear()
        self.dialog.hide()
        if self._over is None:
            self.sheet.clear()
        else:
            self.sheet.show_over(*self._over)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kinds = {QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange}
        if event.type() in kinds and self.sheet.request is not None:
            QTimer.singleShot(0, self, self._show)
        return False
