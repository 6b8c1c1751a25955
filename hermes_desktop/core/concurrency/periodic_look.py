"""Looks at something again and again on a thread, and reports changes to the loop."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class PeriodicLook(Generic[T]):
    """One thread that looks; the loop hears of changes only.

    A timer and a call to a worker each second were most of what an idle window cost.

    Args:
        name: The thread's name.
        look: Blocking. If it raises OSError, the last result counts until the next look.
        changed: Called on the loop with each result that differs from the one before.
        first: What counts as the result before the first look.
        every_s: Seconds between two looks.
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
        """Begin, on the loop; called once."""
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._keep_looking, args=(loop,), name=self._name, daemon=True
        ).start()

    def stop(self) -> None:
        """Stop looking; nothing is reported any more. On the loop."""
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
