"""Long operations on the command line: progress, and Ctrl-C that ends them cleanly."""

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType

from hermes_desktop.cli import output
from hermes_desktop.state.records.cancellation import Progress

_BETWEEN_S = 0.1


class LongOperation:
    """Progress and cancel signal of a long operation, which gets ``on_progress`` and the object."""

    def __init__(self) -> None:
        self._stopped = False
        self._shown_at = 0.0
        self._line = output.RewrittenLine()

    def is_set(self) -> bool:
        """Return whether Ctrl-C was pressed."""
        return self._stopped

    def stop(self, *_: int | FrameType | None) -> None:
        """End the operation at the next step; a second Ctrl-C ends it immediately."""
        if self._stopped:
            raise KeyboardInterrupt
        self._stopped = True

    def on_progress(self, progress: Progress) -> None:
        """Show the progress on a terminal, at most ten times a second."""
        now = time.monotonic()
        if not output.is_error_terminal() or now - self._shown_at < _BETWEEN_S:
            return
        self._shown_at = now
        share = 100 * progress.done // max(progress.total, 1)
        self._line.rewrite(f"{progress.step} … {share} %")

    def clear(self) -> None:
        """Clear the progress line."""
        self._line.clear()


@contextlib.contextmanager
def long_work() -> Iterator[LongOperation]:
    """Make Ctrl-C, and SIGTERM where it exists, stop the enclosed work between two steps."""
    work = LongOperation()
    before = {
        number: signal.signal(number, work.stop)
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield work
    finally:
        work.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
