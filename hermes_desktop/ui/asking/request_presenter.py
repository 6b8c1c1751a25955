"""The presenter of pending requests: on the page, or in a separate dialog."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QMargins, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.user_requests import (
    RequestPending,
    RequestResolved,
    UserAnswer,
    UserRequest,
)
from hermes_desktop.services.agents.user_requests import UserRequests
from hermes_desktop.ui.asking.request_sheet import RequestContext, RequestSheet
from hermes_desktop.ui.asking.sheet_container import SheetContainer
from hermes_desktop.ui.widgets.announcement import announce
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.source_names import source_name
from hermes_desktop.ui.words.visible_text import visible

_LEAST_WIDTH, _MOST_WIDTH = 620, 760
_MOST_WORDS = 200
_SEEN_ANEW = {QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange}


class RequestDialog(QDialog):
    """A dialog with the same sheet, on top of all windows.

    Args:
        sheet: The sheet to show.
        parent: The window to which the dialog belongs.

    Signals:
        put_away: The user closed the dialog.
    """

    put_away = Signal()

    def __init__(self, sheet: QWidget, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.WindowStaysOnTopHint)
        self.setWindowTitle(self.tr("Hermes Desktop needs an answer"))
        self.setModal(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins())
        column.addWidget(sheet)
        self._sheet = sheet

    def fit(self) -> None:
        """Resize to the content: as wide as a row with all buttons, within limits."""
        wanted = self._sheet.sizeHint().width()
        self.setMinimumWidth(min(max(_LEAST_WIDTH, wanted), _MOST_WIDTH))
        layout = self.layout()
        if layout is not None:  # the height that its wrapped text needs at this width and font
            layout.activate()
            wide = self.width()
            high = layout.totalHeightForWidth(wide) if layout.hasHeightForWidth() else 0
            self.resize(wide, high or max(0, layout.totalMinimumSize().height()))

    @override
    def reject(self) -> None:
        self.put_away.emit()


class EscapeFilter(QObject):
    """An event filter that handles Escape before the window's shortcut does.

    Two shortcuts for one key are ambiguous and do nothing at all.

    Args:
        part: The widget that has to have the focus.
        act: The action of Escape in that widget.
    """

    def __init__(self, part: QWidget, act: Callable[[], None]) -> None:
        super().__init__(part)
        self._act = act
        part.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.key() != Qt.Key.Key_Escape:
            return False
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if event.type() == QEvent.Type.KeyPress:
            self._act()
            return True
        return False


class RequestPresenter(QObject):
    """Presenter of pending requests, one at a time, and of results that come from elsewhere.

    Requests of the session on the page come first, then the oldest; the user can step through all.
    Closing the dialog denies an approval and leaves a question pending.

    Args:
        requests: The queue.
        bridge: The signals for its events.
        place: The container of the sheet.
        window: While it is hidden, or shows another page, a dialog is used.
        shown: Returns the id of the session on the page.

    Signals:
        session_wanted: The id of the session that a request belongs to.
        asked_unseen: A request arrived while the page is hidden; carries a title and a text.
    """

    session_wanted = Signal(str)
    asked_unseen = Signal(str, str)

    def __init__(  # noqa: PLR0913 - what it connects
        self,
        requests: UserRequests,
        bridge: EventBridge,
        *,
        place: SheetContainer,
        window: QWidget,
        theme: Theme,
        clock: Clock,
        shown: Callable[[], str | None],
    ) -> None:
        super().__init__(window)
        self._now = clock.time
        self._requests = requests
        self._window = window
        self._page = place.page
        self._shown = shown
        self._spans: dict[str, float] = {}
        self._titles: dict[str, str] = {}
        self._put_off: set[str] = set()
        self._selected = ""
        self._over: tuple[UserRequest, str] | None = None
        self.sheet = RequestSheet(theme, clock.time)
        self.dialog_sheet = RequestSheet(theme, clock.time)
        place.add(self.sheet)
        self.dialog = RequestDialog(self.dialog_sheet, window)
        for sheet in (self.sheet, self.dialog_sheet):
            sheet.answered.connect(self._answer)
            sheet.closed.connect(self._close_over)
            sheet.step_wanted.connect(self._step)
            sheet.session_wanted.connect(self.session_wanted)
        EscapeFilter(self.sheet, self.sheet.escape)
        self.dialog.put_away.connect(self._put_away)
        bridge.request_pending.connect(self._begin)
        bridge.request_resolved.connect(self._settle)
        for watched in (window, self._page):
            watched.installEventFilter(self)

    def open(self) -> None:
        """Start to accept requests; on the event loop."""
        self._requests.open()

    def close(self) -> None:
        """Stop accepting requests."""
        self._requests.close()
        self.dialog.hide()

    def session_shown(self) -> None:
        """Update the sheet after another session was opened on the page."""
        if self.sheet.request is not None:
            self._show()

    def name_session(self, session_id: str, title: str) -> None:
        """Store the title of a session and update a request of it that is shown."""
        self._titles[session_id] = title
        if any(each.session_id == session_id for each in self._requests.pending()):
            self._show()

    # --------------------------------------------------------------------------------- the user
    def _answer(self, request_id: str, text: str) -> None:
        self._requests.answer(request_id, text)
        self._show()

    def _put_away(self) -> None:
        """Handle the closing of the dialog: deny an approval, leave a question for later."""
        request = self.dialog_sheet.request
        if request is None or request.kind == "approval":
            self.dialog_sheet.escape()
            return
        self._put_off.add(request.id)
        self._show()

    def _step(self, by: int) -> None:
        waiting = self._requests.pending()
        ids = [each.id for each in waiting]
        shown = self.sheet.request
        at = (ids.index(shown.id) if shown is not None and shown.id in ids else 0) + by
        if 0 <= at < len(ids):
            self._selected = ids[at]
            self._show()

    def _close_over(self) -> None:
        self._over = None
        self._show()

    # --------------------------------------------------------------------------------- requests
    def _begin(self, event: RequestPending) -> None:
        """Handle a new pending request."""
        request = event.request
        self._over = None
        self._show()
        about = " ".join(request.why) if request.kind == "approval" else request.text
        if request.headline:
            about = f"{request.headline} {request.text}. {about}"
        announce(self._page, self.tr("Question from the assistant: {}").format(about))
        if self._is_hidden():
            title = visible(request.headline) or (
                self.tr("Allow this action?")
                if request.kind == "approval"
                else self.tr("The assistant has a question")
            )
            self.asked_unseen.emit(title, request.text)

    def _settle(self, event: RequestResolved) -> None:
        """Handle a resolved request."""
        self._put_off.discard(event.request.id)
        words = self._result(event.request, event.answer)
        if words:
            self._over = event.request, words
            announce(self._page, words)
        self._show()

    def _result(self, request: UserRequest, answer: UserAnswer) -> str:
        """Return how a request ended; "" if the user need not be notified."""
        is_approval = request.kind == "approval"
        if answer.reason == "timeout":
            return (
                self.tr("Denied: the request timed out.")
                if is_approval
                else self.tr("The question timed out. The assistant continues without an answer.")
            )
        if answer.reason != "answered" or answer.by in {"", "window"}:
            return ""
        where = self._place(answer.by)
        if is_approval:
            done = {
                "once": self.tr("allowed once"),
                "session": self.tr("allowed in this session"),
                "always": self.tr("always allowed"),
                "outside": self.tr("allowed once, outside the sandbox"),
                "deny": self.tr("denied"),
            }
            return self.tr("Answered {}: {}.").format(where, done[answer.text])
        if not answer.text:
            return self.tr("Skipped {}.").format(where)
        return self.tr("Answered {}: {}").format(where, answer.text[:_MOST_WORDS])

    def _place(self, by: str) -> str:
        """Return where a request was answered, as a phrase that follows "Answered"."""
        if by == "terminal":
            return self.tr("at a terminal")
        if by == "rpc":
            return self.tr("in another program")
        return self.tr("in {}").format(source_name(by))

    # ---------------------------------------------------------------------------------- showing
    def _is_hidden(self) -> bool:
        """Return whether the sheet is invisible: the window is hidden, or shows another page."""
        return not self._page.isVisible() or self._window.isMinimized()

    def _choose(self, waiting: Sequence[UserRequest]) -> UserRequest:
        """Return the pending request to show."""
        if self._is_hidden():  # a question that was put off does not cover one that was not
            waiting = [each for each in waiting if each.id not in self._put_off] or waiting
        selected = [each for each in waiting if each.id == self._selected]
        here = [each for each in waiting if each.session_id == self._shown()]
        return (selected or here or waiting)[0]

    def _show(self) -> None:
        """Show a pending request in the one place where it is visible."""
        waiting = self._requests.pending()
        if not waiting:
            self._spans.clear()
            self._show_none()
            return
        request = self._choose(waiting)
        place = (list(waiting).index(request) + 1, len(waiting))
        elsewhere = request.session_id != self._shown()
        span = self._spans.setdefault(request.id, request.expires_at - self._now())
        context = RequestContext(span, self._titles.get(request.session_id, ""))
        self.sheet.show_request(request, elsewhere=elsewhere, place=place, context=context)
        if self._is_hidden() and request.id not in self._put_off:
            self.dialog_sheet.show_request(
                request, elsewhere=elsewhere, place=place, context=context
            )
            self.dialog.show()
            self.dialog.fit()
            self.dialog.raise_()
            self.dialog.activateWindow()
        else:
            self.dialog.hide()

    def _show_none(self) -> None:
        self._selected = ""
        self.dialog_sheet.clear()
        self.dialog.hide()
        if self._over is None:
            self.sheet.clear()
        else:
            self.sheet.show_over(*self._over)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _SEEN_ANEW and self.sheet.request is not None:
            QTimer.singleShot(0, self, self._show)
        return False
