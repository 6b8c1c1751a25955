"""Watchdog that ends the process when shutdown takes too long, and logs where it hung."""

import contextlib
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

EXIT_SLACK_S = 10.0
"""How much longer than its legitimate waits the shutdown of a program may take."""
OVERDUE = 1
_LOGGING_S = 3.0


def exit_immediately(code: int) -> None:
    """End the process without cleanup; its child processes are asked to end, too."""
    try:
        for file in Path("/proc/self/task").glob("*/children"):  # only Linux provides this
            for pid in map(int, file.read_text(encoding="ascii").split()):
                _ask_to_end(pid)
    finally:
        os._exit(code)


def _ask_to_end(pid: int) -> None:
    """Send SIGTERM, to the whole group if the process leads one."""
    with contextlib.suppress(OSError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGTERM)
        else:
            os.kill(pid, signal.SIGTERM)


class ExitDeadline:
    """A watchdog thread: unless it is disarmed, it logs every stack and exits hard.

    Hung threads cannot be stopped, and a hung loop stops nothing any more; this needs neither.
    Nothing is cleaned up then, but our child processes are asked to end. A program leaves it armed
    permanently, because the interpreter also waits for threads when it exits.

    Args:
        leave: Ends the process immediately, with the exit code.
        tell: Called with a sentence for a user who watches a terminal.
        logging_s: How long writing the stacks into the log may take.
    """

    def __init__(
        self,
        leave: Callable[[int], object] = exit_immediately,
        tell: Callable[[str], object] = lambda _: None,
        logging_s: float = _LOGGING_S,
    ) -> None:
        self._leave = leave
        self._tell_person = tell
        self._logging_s = logging_s
        self._changed = threading.Condition()
        self._until: float | None = None
        self._seconds = 0.0
        self._thread: threading.Thread | None = None

    def arm(self, seconds: float) -> None:
        """Start the deadline of the shutdown. If it is armed twice, the earlier deadline counts."""
        with self._changed:
            until = time.monotonic() + seconds
            if self._until is None or until < self._until:
                self._until, self._seconds = until, seconds
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._wait, name="exit-deadline", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def disarm(self) -> None:
        """Cancel the deadline: everything is closed, and the process continues."""
        with self._changed:
            self._until = None
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        if thread is not None:
            thread.join(timeout=1.0)

    def _wait(self) -> None:
        with self._changed:
            while True:
                if self._until is None:
                    return
                left = self._until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
        # The hung code may hold a lock of the log: do not wait for it forever.
        telling = threading.Thread(target=self._tell, name="exit-stacks", daemon=True)
        telling.start()
        telling.join(self._logging_s)
        self._leave(OVERDUE)

    def _tell(self) -> None:
        words = f"Closing took more than {self._seconds:.0f} s; the process ends now."
        self._tell_person(f"{words} The log shows where it hung.")
        log.critical("%s", words)
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the documented way
            stack = "".join(traceback.format_stack(frame))
            log.critical("Thread %s:\n%s", names.get(ident, ident), stack)
