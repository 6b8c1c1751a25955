"""The Qt application and its event loop: set-up and supervision."""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any

import qasync
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QMessageLogContext,
    QObject,
    Qt,
    QTimerEvent,
    QtMsgType,
    Signal,
    qInstallMessageHandler,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from typing_extensions import override

from hermes_desktop import __version__
from hermes_desktop.core.desktop_id import DESKTOP_ID
from hermes_desktop.core.errors import HermesError
from hermes_desktop.ui.widgets.resource_files import plain_icon

log = logging.getLogger(__name__)
qt_log = logging.getLogger("hermes_desktop.qt")

NoteException = Callable[[type[BaseException], BaseException, TracebackType | None], object]

SLOW_CALLBACK_S = 0.05
_QT_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
_INPUT = frozenset(
    {
        QEvent.Type.KeyPress,
        QEvent.Type.InputMethod,
        QEvent.Type.Wheel,
        QEvent.Type.MouseButtonPress,
        QEvent.Type.MouseMove,
        QEvent.Type.DragMove,
        QEvent.Type.TouchBegin,
        QEvent.Type.TouchUpdate,
    }
)


def create_application(argv: Sequence[str]) -> QApplication:
    """Create the ``QApplication`` with the program's names; closing its windows does not end it."""
    QGuiApplication.setDesktopFileName(DESKTOP_ID)
    # On X11, -name sets the window class by which desktops find the menu entry of a window.
    app = QApplication([*argv, "-name", DESKTOP_ID])
    app.setApplicationName("hermes-desktop")
    app.setApplicationDisplayName("Hermes")
    app.setApplicationVersion(__version__)
    app.setQuitOnLastWindowClosed(False)
    app.setWindowIcon(plain_icon("hermes-desktop", (16, 24, 32, 48, 64, 128, 256)))
    return app


class ApplicationFilter(QObject):
    """A filter for all events of the application: requests to quit, and user input.

    Signals:
        quit_requested: The system requests the program to quit. ``QApplication.quit`` would end the
            loop before the clean-up ran.
        input_seen: A key was pressed, or a wheel, mouse or touch point moved.
    """

    quit_requested = Signal()
    input_seen = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        app.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in _INPUT:
            self.input_seen.emit()
        elif kind == QEvent.Type.Quit:
            self.quit_requested.emit()
            event.ignore()
            return True
        return False


class LoopWatchdog:
    """Detects callbacks of the loop that block the main thread, and where they block.

    A thread sleeps until a callback begins and checks again after the limit; while no callback
    runs, it does not wake up at all.

    Args:
        limit_s: Seconds a callback may take before it is reported.
        report: Called on the main thread with the seconds it took and the stack as text ("" if it
            was missed).
    """

    def __init__(
        self,
        *,
        limit_s: float = SLOW_CALLBACK_S,
        report: Callable[[float, str], None] | None = None,
    ) -> None:
        self._limit_s = limit_s
        self._report = report or _log_slow_callback
        self._main = threading.get_ident()
        self._reporting = True
        self._began = threading.Event()
        self._since = 0.0
        self._stack = ""
        self._depth = 0
        self._closed = False
        self._thread = threading.Thread(target=self._watch, name="loop-watchdog", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Suspend reports until :meth:`resume`: no window is visible that could freeze."""
        self._reporting = False

    def resume(self) -> None:
        """Report again."""
        self._reporting = True

    def enter(self) -> None:
        """Record the start of a callback."""
        self._depth += 1
        if self._depth == 1:
            self._stack = ""
            self._since = time.monotonic()
            self._began.set()

    def leave(self) -> None:
        """Record the end of a callback, and report it if it took too long."""
        self._depth -= 1
        if self._depth:
            return
        self._began.clear()
        took, self._since = time.monotonic() - self._since, 0.0
        if took > self._limit_s and self._reporting:
            stack, self._stack = self._stack, ""
            self._report(took, stack)

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._began.set()
        self._thread.join(timeout=1.0)

    def _watch(self) -> None:
        pause = threading.Event()
        while True:
            self._began.wait()
            if self._closed:
                return
            since = self._since
            pause.wait(self._limit_s)
            if since == 0.0 or self._since != since:
                continue
            self._stack = _lines_of(sys._current_frames().get(self._main))  # noqa: SLF001
            while self._since == since:
                pause.wait(self._limit_s)


def _lines_of(frame: FrameType | None) -> str:
    """Return the stack without its source text: reading files would take longer than the delay."""
    lines: list[str] = []
    while frame is not None:
        code = frame.f_code
        lines.append(f"  {code.co_filename}:{frame.f_lineno} in {code.co_qualname}")
        frame = frame.f_back
    return "\n".join(reversed(lines))


class _PreciseTimer(qasync._SimpleTimer):  # noqa: SLF001 - the only place to say how precise
    """Wakes callbacks within a millisecond; Qt's coarse timers are up to 5 % off, also early."""

    def __init__(self, watchdog: LoopWatchdog | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._watchdog = watchdog

    @override
    def startTimer(self, interval: int) -> int:
        return int(super().startTimer(interval, Qt.TimerType.PreciseTimer))

    @override
    def timerEvent(self, event: QTimerEvent) -> None:
        if self._watchdog is None:
            super().timerEvent(event)  # type: ignore[no-untyped-call]
            return
        self._watchdog.enter()
        try:
            super().timerEvent(event)  # type: ignore[no-untyped-call]
        finally:
            self._watchdog.leave()


class DesktopLoop(qasync.QEventLoop):  # type: ignore[misc]
    """An asyncio event loop on top of Qt's loop, with precise timers.

    Args:
        app: The application whose loop it runs.
        watchdog: Notified of each callback; the caller closes it.
    """

    def __init__(self, app: QCoreApplication, watchdog: LoopWatchdog | None = None) -> None:
        super().__init__(app)
        self._timer = _PreciseTimer(watchdog)


def _screen_lost() -> HermesError:
    return HermesError(
        "The display was lost.",
        "The display server ended while Hermes Desktop was running.",
        "Start it again; the conversations so far are in the history.",
    )


class _ScreenLoss:
    """Reports the loss of the screen once. Any thread; Qt reports it several times."""

    def __init__(self) -> None:
        self._free = threading.Lock()

    @property
    def told(self) -> bool:
        """Whether it was reported."""
        return self._free.locked()

    def tell(self) -> None:
        """Report it, unless that was done already."""
        if self._free.acquire(blocking=False):
            sys.stderr.write(f"{_screen_lost()}\n")


_loss = _ScreenLoss()
_CONNECTION_BROKE = "connection broke"
_STOPPED = "Event loop stopped before Future completed"


def run_on_loop(main: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> Any:
    """Run a coroutine function to its end on the loop, then close the loop.

    Raises:
        HermesError: The screen was lost while the program was running.
        SystemExit: The screen was lost, and that was reported already.
    """
    try:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(main())
    except RuntimeError as error:
        if _STOPPED not in str(error):
            raise
        # The program never stops the loop; Qt does when its connection to the screen breaks.
        if _loss.told:
            raise SystemExit(1) from error
        raise _screen_lost() from error


def install_message_handler() -> None:
    """Route Qt's messages to the log."""
    qInstallMessageHandler(_log_qt_message)


def install_exception_hooks(note: NoteException = lambda *_: None) -> None:
    """Log uncaught exceptions of all threads instead of printing them.

    Args:
        note: Called with each of them, too; any thread.
    """

    def uncaught(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            note(kind, error, trace)
        _log_uncaught(kind, error, trace)

    sys.excepthook = uncaught
    threading.excepthook = lambda args: uncaught(
        args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
    )


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    log.critical("Uncaught exception", exc_info=(kind, error, trace))


def _log_slow_callback(seconds: float, stack: str) -> None:
    log.warning("The main thread was blocked for %.0f ms in:\n%s", seconds * 1000, stack.rstrip())


def _log_qt_message(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    category = getattr(context, "category", None) or "default"
    if _CONNECTION_BROKE in text:  # Qt may end the process right after this message
        _loss.tell()
    qt_log.log(_QT_LEVELS.get(kind, logging.WARNING), "%s: %s", category, text)
