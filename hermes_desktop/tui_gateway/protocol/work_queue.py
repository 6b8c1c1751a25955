"""A few threads that do what comes, in order; made when first needed, and few enough."""

import queue
import threading
from collections.abc import Callable

Work = Callable[[], None]
MOST_WAITING = 256
"""Whoever adds more waits: a peer that floods is slowed down, and nothing is lost."""


class WorkQueue:
    """Runs work on daemon threads.

    Args:
        size: How many at once; with one, in the order it came.
    """

    def __init__(self, size: int = 1) -> None:
        self._size = size
        self._waiting: queue.Queue[Work | None] = queue.Queue(MOST_WAITING)
        self._lock = threading.Lock()
        self._threads = 0

    def add(self, work: Work) -> None:
        """Have it done; work never raises. Blocks while too much waits."""
        with self._lock:
            if self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._run, daemon=True, name="rpc-work").start()
        self._waiting.put(work)

    def finish(self) -> None:
        """Wait until all is done, and let the threads go. Nothing may be added any more."""
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
