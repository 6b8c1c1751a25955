"""Coroutines of plain slots, dialogs without a nested event loop, and calls of other threads."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import shiboken6
from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from PySide6.QtWidgets import QDialog

from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.errors import CancelledError, HermesError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice

log = logging.getLogger(__name__)


class AsyncSlots:
    """Runner for coroutines that a slot starts: keeps them alive and reports their failures.

    Args:
        tasks: Holds the tasks and ends them when the program closes.
        bus: Receives a :class:`~hermes_desktop.core.events.Notice` for each failure.
    """

    def __init__(self, tasks: TaskSet, bus: EventBus) -> None:
        self._tasks = tasks
        self._bus = bus

    def start(self, coro: Coroutine[Any, Any, Any], *, doing: str) -> asyncio.Task[None]:
        """Run a coroutine on the running loop.

        Args:
            coro: What to run. A :class:`HermesError` becomes a notice; anything else is a bug and
                is logged as one.
            doing: A description for notices and logs: "Renaming the session".
        """
        task = self._tasks.start(self._guard(coro, doing), name=doing)
        # A task that is cancelled before its first step would leave its coroutine unclosed.
        task.add_done_callback(lambda _: coro.close())
        return task

    async def _guard(self, coro: Coroutine[Any, Any, Any], doing: str) -> None:
        try:
            await coro
        except CancelledError:
            log.info("%s: stopped by the user", doing)
        except HermesError as error:
            log.warning("%s: %s", doing, error)
            self._bus.publish(
                Notice("error", error.title, error.detail, error.hint, key=f"doing:{doing}")
            )
        except Exception as error:
            log.exception("%s failed unexpectedly", doing)
            self._bus.publish(
                Notice(
                    "error",
                    f"{doing} failed.",
                    f"An internal error occurred: {type(error).__name__}: {error}",
                    "See the log for details, and please report this bug.",
                    key=f"doing:{doing}",
                )
            )

    @staticmethod
    async def ask(dialog: QDialog) -> int:
        """Show a dialog and wait for its result without blocking the event loop.

        Args:
            dialog: Shown window-modal. It is hidden afterwards; the caller deletes it.

        Returns:
            The result of the dialog; ``QDialog.DialogCode.Rejected`` if it was closed.
        """
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def finished(result: int) -> None:
            if not answer.done():
                answer.set_result(result)

        def destroyed() -> None:
            finished(int(QDialog.DialogCode.Rejected))

        dialog.finished.connect(finished)
        dialog.destroyed.connect(destroyed)
        dialog.open()
        try:
            return await answer
        finally:
            with contextlib.suppress(RuntimeError):  # already deleted by its parent
                dialog.hide()


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
