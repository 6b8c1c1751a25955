"""Runs calls of other threads on the main thread."""

from collections import deque
from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal


class MainThreadCalls(QObject):
    """Runs what any thread posts, in that order, on the main thread.

    It lives as long as the application, so that a worker never sends a signal of an object that
    the main thread is deleting.
    """

    _posted = Signal()

    def __init__(self, app: QCoreApplication) -> None:
        super().__init__(app)
        self._calls: deque[Callable[[], None]] = deque()
        self._posted.connect(self._run_next, Qt.ConnectionType.QueuedConnection)

    @classmethod
    def of(cls, app: QCoreApplication) -> "MainThreadCalls":
        """The one that belongs to an application. Main thread only."""
        return app.findChild(cls) or cls(app)

    def post(self, call: Callable[[], None]) -> None:
        """Run this soon on the main thread. Any thread; after the application it is not run."""
        self._calls.append(call)
        if shiboken6.isValid(self):
            self._posted.emit()

    def _run_next(self) -> None:
        self._calls.popleft()()
