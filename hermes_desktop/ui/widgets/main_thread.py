"""Calls posted from other threads to the main thread."""

from collections import deque
from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal


class MainThreadCalls(QObject):
    """A queue of calls from any thread, run in order on the main thread.

    It lives as long as the application, so that a worker never sends a signal of an object that the
    main thread is deleting.
    """

    _posted = Signal()

    def __init__(self, app: QCoreApplication) -> None:
        super().__init__(app)
        self._calls: deque[Callable[[], None]] = deque()
        self._posted.connect(self._run_next, Qt.ConnectionType.QueuedConnection)

    @classmethod
    def of(cls, app: QCoreApplication) -> "MainThreadCalls":
        """Return the instance that belongs to an application. Main thread only."""
        return app.findChild(cls) or cls(app)

    def post(self, call: Callable[[], None]) -> None:
        """Run a call soon on the main thread. Any thread; dropped once the application ended."""
        self._calls.append(call)
        if shiboken6.isValid(self):
            self._posted.emit()

    def _run_next(self) -> None:
        self._calls.popleft()()
