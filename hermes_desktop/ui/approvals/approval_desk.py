"""Where a question is shown: on the page, or in a window of its own while that is hidden."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QMargins, QObject, Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QBoxLayout, QDialog, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import ApprovalRequested, ApprovalResolved
from hermes_desktop.services.approvals_queue import Approvals
from hermes_desktop.ui.approvals.approval_sheet import ApprovalSheet
from hermes_desktop.ui.chat.announcement import announce
from hermes_desktop.ui.event_bridge import EventBridge
from hermes_desktop.ui.theme import Theme

_WIDTH = 560


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
    """Shows the oldest question; the next one when that is settled.

    Args:
        approvals: The queue.
        bridge: News of it.
        page: Where the sheet stands, above its last widget.
        window: While this is hidden, a dialog asks.
        shown: Id of the session on the page.
    """

    def __init__(  # noqa: PLR0913 - what it stands between
        self,
        approvals: Approvals,
        bridge: EventBridge,
        *,
        page: QWidget,
        window: QWidget,
        theme: Theme,
        clock: Clock,
        shown: Callable[[], str | None],
    ) -> None:
        super().__init__(window)
        self._approvals = approvals
        self._window = window
        self._shown = shown
        self.sheet = ApprovalSheet(theme, clock.time, page)
        layout = page.layout()
        assert isinstance(layout, QBoxLayout)  # noqa: S101 - the page is a column
        layout.insertWidget(layout.count() - 1, self.sheet)
        self.dialog = ApprovalDialog(theme, clock.time, window)
        for sheet in (self.sheet, self.dialog.sheet):
            sheet.answered.connect(self._answer)
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self.sheet, self.sheet.deny)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        bridge.approval_requested.connect(self._asked)
        bridge.approval_resolved.connect(self._resolved)
        window.installEventFilter(self)

    def open(self) -> None:
        """From now on a person can be asked; on the loop."""
        self._approvals.open()

    def close(self) -> None:
        """Nobody is asked any more."""
        self._approvals.close()
        self.dialog.hide()

    def _asked(self, request: ApprovalRequested) -> None:
        self._show()
        announce(self.sheet, self.tr("The assistant asks: {}").format(" ".join(request.why)))

    def _resolved(self, _event: ApprovalResolved) -> None:
        self._show()

    def _answer(self, request_id: str, choice: str) -> None:
        if choice in {"once", "session", "always", "deny"}:
            self._approvals.answer(request_id, choice)  # type: ignore[arg-type]
        self._show()

    def _show(self) -> None:
        """Show the oldest question that still waits, in the one place where it is seen."""
        waiting = self._approvals.pending()
        if not waiting:
            self.sheet.clear()
            self.dialog.sheet.clear()
            self.dialog.hide()
            return
        first, more = waiting[0], len(waiting) - 1
        elsewhere = first.session_id != self._shown()
        hidden = not self._window.isVisible() or self._window.isMinimized()
        self.sheet.show_request(first, elsewhere=elsewhere, more=more)
        if hidden:
            self.dialog.sheet.show_request(first, elsewhere=False, more=more)
            self.dialog.show()
            self.dialog.raise_()
            self.dialog.activateWindow()
        else:
            self.dialog.hide()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kinds = {QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange}
        if event.type() in kinds and self.sheet.request is not None:
            QTimer.singleShot(0, self, self._show)
        return False
