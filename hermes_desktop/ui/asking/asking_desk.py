"""The presenter of pending requests: on the page, or in a dialog of its own."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from PySide6.QtCore import QEvent, QMargins, QObject, Qt, QTimer, Signal, SignalInstance
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.asking.request_context import RequestContext
from hermes_desktop.ui.asking.sheet_place import SheetContainer
from hermes_desktop.ui.widgets.announcement import announce
from hermes_desktop.ui.widgets.dialog_size import fit_height
from hermes_desktop.ui.widgets.own_escape import EscapeFilter

_WIDTH = 620
_SEEN_ANEW = {QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange}


class Asked(Protocol):
    """The event that a request is pending."""

    @property
    def request_id(self) -> str:
        """Id of the request."""

    @property
    def session_id(self) -> str:
        """Id of its session."""

    @property
    def expires_at(self) -> float:
        """When it times out, in seconds since the epoch."""


class Settled(Protocol):
    """The event that a request is resolved."""

    @property
    def request_id(self) -> str:
        """Id of the request."""


Q = TypeVar("Q", bound=Asked)
A = TypeVar("A", bound=Settled)
W_co = TypeVar("W_co", bound=Asked, covariant=True)


class Waiting(Protocol[W_co]):
    """The request queue, as the presenter needs it. On the event loop."""

    def open(self) -> None:
        """Start to accept requests."""

    def close(self) -> None:
        """Stop accepting requests."""

    def pending(self) -> Sequence[W_co]:
        """Return the pending requests, the oldest first."""


class Sheet(Protocol[Q]):
    """A widget that shows one request at a time."""

    asked: Q | None
    answered: SignalInstance
    session_wanted: SignalInstance
    closed: SignalInstance

    def show_asked(
        self, asked: Q, *, elsewhere: bool, place: tuple[int, int], context: RequestContext
    ) -> None:
        """Show a request.

        Args:
            asked: The request.
            elsewhere: Whether it belongs to another session than the one on the page.
            place: Its number, from 1, and the total of requests.
            context: Its session and its time span.
        """

    def show_over(self, asked: Q, words: str) -> None:
        """Show how a request ended."""

    def escape(self) -> None:
        """Handle Escape."""

    def clear(self) -> None:
        """Hide the sheet; no request is pending any more."""


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
        self.setWindowTitle(self.tr("Hermes Desktop asks"))
        self.setModal(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins())
        column.addWidget(sheet)
        self.setMinimumWidth(_WIDTH)

    @override
    def reject(self) -> None:
        self.put_away.emit()


class RequestPresenter(QObject, Generic[Q, A]):
    """Presenter of pending requests, one at a time, and of results that come from elsewhere.

    Args:
        waiting: The queue.
        sheets: The sheets for the page and for the dialog.
        place: The container of the sheet.
        window: While it is hidden, or shows another page, a dialog is used.
        shown: Returns the id of the session on the page.
        now: Returns seconds since the epoch.

    Signals:
        session_wanted: The id of the session that a request belongs to.
    """

    session_wanted = Signal(str)

    def __init__(
        self,
        waiting: Waiting[Q],
        sheets: tuple[Any, Any],
        *,
        place: SheetContainer,
        window: QWidget,
        shown: Callable[[], str | None],
        now: Callable[[], float],
    ) -> None:
        super().__init__(window)
        self._now = now
        self._waiting = waiting
        self._window = window
        self._page = place.page
        self._shown = shown
        self._asked_last: dict[str, Q] = {}
        self._spans: dict[str, float] = {}
        self._titles: dict[str, str] = {}
        self._over: tuple[Q, str] | None = None
        sheet, in_dialog = sheets
        place.add(sheet)
        self.dialog = RequestDialog(in_dialog, window)
        self._sheets: tuple[Sheet[Q], Sheet[Q]] = (sheet, in_dialog)
        for each in self._sheets:
            each.answered.connect(self._answer)
            each.closed.connect(self._close_over)
            each.session_wanted.connect(self.session_wanted)
        EscapeFilter(sheet, sheet.escape)
        self.dialog.put_away.connect(self._put_away)
        for watched in (window, self._page):
            watched.installEventFilter(self)

    def open(self) -> None:
        """Start to accept requests; on the event loop."""
        self._waiting.open()

    def close(self) -> None:
        """Stop accepting requests."""
        self._waiting.close()
        self.dialog.hide()

    def session_shown(self) -> None:
        """Update the sheet after another session was opened on the page."""
        if self._sheets[0].asked is not None:
            self._show()

    def name_session(self, session_id: str, title: str) -> None:
        """Store the title of a session and update a request of it that is shown."""
        self._titles[session_id] = title
        if any(each.session_id == session_id for each in self._waiting.pending()):
            self._show()

    # ----------------------------------------------------------------- overridden by subclasses
    def _answer(self, request_id: str, answer: str) -> None:
        raise NotImplementedError

    def _put_away(self) -> None:
        """Handle the closing of the dialog."""
        raise NotImplementedError

    def _choose(self, waiting: Sequence[Q]) -> Q:
        """Return the pending request to show."""
        raise NotImplementedError

    def _in_words(self, asked: Q) -> str:
        """Return the text of a request for screen readers."""
        raise NotImplementedError

    def _end_words(self, settled: A) -> str:
        """Return how a request ended; "" if the user need not be notified."""
        raise NotImplementedError

    def _may_interrupt(self, asked: Q) -> bool:
        """Return whether the dialog may be shown for this request."""
        del asked
        return True

    # ---------------------------------------------------------------------------------- showing
    def _begin(self, asked: Q) -> None:
        """Handle a new pending request."""
        self._asked_last[asked.request_id] = asked
        self._over = None
        self._show()
        words = self.tr("Question from the assistant: {}").format(self._in_words(asked))
        announce(self._page, words)

    def _settle(self, settled: A) -> None:
        """Handle a resolved request."""
        asked = self._asked_last.pop(settled.request_id, None)
        words = self._end_words(settled)
        if asked is not None and words:
            self._over = asked, words
            announce(self._page, words)
        self._show()

    def _close_over(self) -> None:
        self._over = None
        self._show()

    def _is_hidden(self) -> bool:
        """Return whether the sheet is invisible: the window is hidden, or shows another page."""
        return not self._page.isVisible() or self._window.isMinimized()

    def _show(self) -> None:
        """Show a pending request in the one place where it is visible."""
        waiting = self._waiting.pending()
        if not waiting:
            self._spans.clear()
            self._show_none()
            return
        asked = self._choose(waiting)
        place = (list(waiting).index(asked) + 1, len(waiting))
        sheet, in_dialog = self._sheets
        elsewhere = asked.session_id != self._shown()
        span = self._spans.setdefault(asked.request_id, asked.expires_at - self._now())
        context = RequestContext(span, self._titles.get(asked.session_id, ""))
        sheet.show_asked(asked, elsewhere=elsewhere, place=place, context=context)
        if self._is_hidden() and self._may_interrupt(asked):
            in_dialog.show_asked(asked, elsewhere=elsewhere, place=place, context=context)
            self.dialog.show()
            fit_height(self.dialog)
            self.dialog.raise_()
            self.dialog.activateWindow()
        else:
            self.dialog.hide()

    def _show_none(self) -> None:
        sheet, in_dialog = self._sheets
        in_dialog.clear()
        self.dialog.hide()
        if self._over is None:
            sheet.clear()
        else:
            sheet.show_over(*self._over)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _SEEN_ANEW and self._sheets[0].asked is not None:
            QTimer.singleShot(0, self, self._show)
        return False
