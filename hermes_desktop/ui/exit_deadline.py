"""Ends the process when closing takes too long, and leaves behind where it hung."""

import logging
import os
import sys
import threading
import traceback

log = logging.getLogger(__name__)


class ExitDeadline:
    """A thread that waits for :meth:`disarm`, and else logs every stack and exits hard.

    Args:
        seconds: From arming on.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="exit-deadline", daemon=True)

    def arm(self) -> None:
        """Closing begins."""
        self._thread.start()

    def disarm(self) -> None:
        """Everything is closed."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def _wait(self) -> None:
        if self._over.wait(self._seconds):
            return
        log.critical("Closing took more than %.0f s; the process ends now.", self._seconds)
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the documented way
            stack = "".join(traceback.format_stack(frame))
            log.critical("Thread %s:\n%s", names.get(ident, ident), stack)
        logging.shutdown()
        os._exit(1)
