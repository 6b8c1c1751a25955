"""A queue of work for a few threads, which are started on demand."""

import queue
import threading
from collections.abc import Callable

Work = Callable[[], None]
MOST_WAITING = 256
"""Length limit of the queue; when full, adding blocks: a flooding peer is slowed down."""


class WorkQueue:
    """Runs work on daemon threads.

    Args:
        size: The number of threads; with one, work runs in the order of arrival.
    """

    def __init__(self, size: int = 1) -> None:
        self._size = size
        self._waiting: queue.Queue[Work | None] = queue.Queue(MOST_WAITING)
        self._lock = threading.Lock()
        self._threads = 0

    def add(self, work: Work) -> None:
        """Add work, which must not raise. Blocks while the queue is full."""
        with self._lock:
            if self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._run, daemon=True, name="rpc-work").start()
        self._waiting.put(work)

    def finish(self) -> None:
        """Wait until all work is done, and end the threads. Nothing may be added any more."""
        self._waiting.join()
        with self._lock:
            for _ in range(self._threads):
                self._waiting.put(None)
            self._threads = 0

    def _run(self) -> None:
        while True:
            work = self._waiting.get()
            try:
                if work is None:
                    return
                work()
            finally:
                self._waiting.task_done()
