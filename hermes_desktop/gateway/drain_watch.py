"""Notices that a tool asks the gateway to take no new messages, and that it does no longer."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from hermes_desktop.gateway.status import drain_requested

LOOK_S = 1.0


class DrainWatch:
    """Looks for the file once a second, on a thread of its own.

    The loop hears of changes only: a timer and a call to a worker each second were most of what
    an idle window cost.

    Args:
        home: Where the file would lie.
        changed: Told on the loop whether quiet is wanted, whenever that changes.
        look_s: Seconds between two looks.
    """

    def __init__(
        self, home: Path, changed: Callable[[bool], None], *, look_s: float = LOOK_S
    ) -> None:
        self._home = home
        self._changed = changed
        self._look_s = look_s
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin; on the loop. What lies there already counts as a change."""
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._keep_looking, args=(loop,), name="drain-watch", daemon=True
        ).start()

    def stop(self) -> None:
        """Look no more, tell nothing any more; on the loop."""
        self._ended.set()

    def _keep_looking(self, loop: asyncio.AbstractEventLoop) -> None:
        wanted = False
        with contextlib.suppress(RuntimeError):  # the loop is gone
            while not self._ended.is_set():
                found = wanted
                with contextlib.suppress(OSError):  # a folder that cannot be read asks for nothing
                    found = drain_requested(self._home)
                if found != wanted:
                    wanted = found
                    loop.call_soon_threadsafe(self._tell, wanted)
                self._ended.wait(self._look_s)

    def _tell(self, wanted: bool) -> None:  # noqa: FBT001 - what the look found
        if not self._ended.is_set():
            self._changed(wanted)
