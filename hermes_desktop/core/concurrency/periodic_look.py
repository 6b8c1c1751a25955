"""Polling on a separate thread, with changes reported to the event loop."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class PollingThread(Generic[T]):
    """One polling thread that notifies the loop of changes only.

    A timer and a worker call every second were most of the cost of an idle window.

    Args:
        name: The thread's name.
        look: The blocking check. If it raises OSError, the last result remains valid.
        changed: Called on the loop with each result that differs from the one before.
        first: What counts as the result before the first check.
        every_s: Seconds between two checks.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[], T],
        changed: Callable[[T], None],
        *,
        first: T,
        every_s: float,
    ) -> None:
        self._name = name
        self._look = look
        self._changed = changed
        self._first = first
        self._every_s = every_s
        self._ended = threading.Event()

    def start(self) -> None:
        """Start polling. Called once, on the loop."""
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._keep_looking, args=(loop,), name=self._name, daemon=True
        ).start()

    def stop(self) -> None:
        """Stop polling; nothing is reported any more. Called on the loop."""
        self._ended.set()

    def _keep_looking(self, loop: asyncio.AbstractEventLoop) -> None:
        last = self._first
        with contextlib.suppress(RuntimeError):  # the loop is gone
            while not self._ended.is_set():
                found = last
                try:
                    found = self._look()
                except OSError as error:
                    log.debug("%s could not look: %s", self._name, error)
                if found != last:
                    last = found
                    loop.call_soon_threadsafe(self._tell, found)
                self._ended.wait(self._every_s)

    def _tell(self, found: T) -> None:
        if not self._ended.is_set():
            self._changed(found)
