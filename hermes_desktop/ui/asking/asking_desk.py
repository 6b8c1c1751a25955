"""Where something that waits for a person is shown: on the page, or in a window of its own."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from PySide6.QtCore import QEvent, QMargins, QObject, Qt, QTimer, Signal, SignalInstance
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.asking.request_context import RequestContext
from hermes_desktop.ui.asking.sheet_place import SheetPlace
from hermes_desktop.ui.widgets.announcement import announce
from hermes_desktop.ui.widgets.dialog_size import fit_height
from hermes_desktop.ui.widgets.own_escape import OwnEscape

_WIDTH = 620
_SEEN_ANEW = {QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange}


class Asked(Protocol):
    """News of something that waits."""

    @property
    def request_id(self) -> str:
        """Which one."""

    @property
    def session_id(self) -> str:
        """Whose."""

    @property
    def expires_at(self) -> float:
        """When it ends without an answer, in seconds since the epoch."""


class Settled(Protocol):
    """News of how it ended."""

    @property
    def request_id(self) -> str:
        """Which one."""


Q = TypeVar("Q", bound=Asked)
A = TypeVar("A", bound=Settled)
W_co = TypeVar("W_co", bound=Asked, covariant=True)


class Waiting(Protocol[W_co]):
    """The queue, as a desk needs it. On the loop."""

    def open(self) -> None:
        """From now on somebody can be asked."""

    def close(self) -> None:
        """Nobody can be asked any more."""

    def pending(self) -> Sequence[W_co]:
        """What waits, the oldest first."""


class Sheet(Protocol[Q]):
    """A widget that shows one of them at a time."""

    asked: Q | None
    answered: SignalInstance
    session_wanted: SignalInstance
    closed: SignalInstance

    def show_asked(
        self, asked: Q, *, elsewhere: bool, place: tuple[int, int], context: RequestContext
    ) -> None:
        """Ask this: of the session on the page or not, which of how many, and in which context."""

    def show_over(self, asked: Q, words: str) -> None:
        """Say how it ended."""

    def escape(self) -> None:
        """What Escape means."""

    def clear(self) -> None:
        """Nothing is asked any more."""


class AskingDialog(QDialog):
    """The same sheet in front of everything.

    Args:
        sheet: What is shown.
        parent: Above which window.

    Signals:
        put_away: Somebody closed it.
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


class AskingDesk(QObject, Generic[Q, A]):
    """Shows what waits, one at a time, and says how it ended if that was not here.

    Args:
        waiting: The queue.
        sheets: What shows one, on the page and in the dialog.
        place: Where the sheet stands.
        window: While this is hidden, or shows something else than the place, a dialog asks.
        shown: Id of the session on the page.
        now: Seconds since the epoch.

    Signals:
        session_wanted: The session that a question belongs to, by its id.
    """

    session_wanted = Signal(str)

    def __init__(
        self,
        waiting: Waiting[Q],
        sheets: tuple[Any, Any],
        *,
        place: SheetPlace,
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
        self.dialog = AskingDialog(in_dialog, window)
        self._sheets: tuple[Sheet[Q], Sheet[Q]] = (sheet, in_dialog)
        for each in self._sheets:
            each.answered.connect(self._answer)
            each.closed.connect(self._close_over)
            each.session_wanted.connect(self.session_wanted)
        OwnEscape(sheet, sheet.escape)
        self.dialog.put_away.connect(self._put_away)
        for watched in (window, self._page):
            watched.installEventFilter(self)

    def open(self) -> None:
        """From now on a person can be asked; on the loop."""
        self._waiting.open()

    def close(self) -> None:
        """Nobody is asked any more."""
        self._waiting.close()
        self.dialog.hide()

    def session_shown(self) -> None:
        """Another session is on the page."""
        if self._sheets[0].asked is not None:
            self._show()

    def name_session(self, session_id: str, title: str) -> None:
        """Learn what a session is called; a request of it that is shown names it."""
        self._titles[session_id] = title
        if any(each.session_id == session_id for each in self._waiting.pending()):
            self._show()

    # ---------------------------------------------------------------------- what they differ in
    def _answer(self, request_id: str, answer: str) -> None:
        raise NotImplementedError

    def _put_away(self) -> None:
        """The dialog was closed."""
        raise NotImplementedError

    def _choose(self, waiting: Sequence[Q]) -> Q:
        """Which of those that wait is shown."""
        raise NotImplementedError

    def _in_words(self, asked: Q) -> str:
        """For who hears the window."""
        raise NotImplementedError

    def _end_words(self, settled: A) -> str:
        """How it ended; "" if that needs no saying."""
        raise NotImplementedError

    def _may_interrupt(self, asked: Q) -> bool:
        """Whether the dialog may come."""
        del asked
        return True

    # ---------------------------------------------------------------------------------- showing
    def _begin(self, asked: Q) -> None:
        """News: something waits."""
        self._asked_last[asked.request_id] = asked
        self._over = None
        self._show()
        words = self.tr("The assistant asks: {}").format(self._in_words(asked))
        announce(self._page, words)

    def _settle(self, settled: A) -> None:
        """News: it is over."""
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
        """Whether nobody can see the sheet: the window is away, or shows another page."""
        return not self._page.isVisible() or self._window.isMinimized()

    def _show(self) -> None:
        """Show one that still waits, in the one place where it is seen."""
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
