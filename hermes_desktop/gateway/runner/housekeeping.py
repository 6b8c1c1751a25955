"""Supervision of continuous background work, with restarts after crashes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

MAX_RAPID_FAILURES = 5
HEALTHY_S = 300.0
_LONGEST_PAUSE_S = 60.0


async def supervised(
    name: str,
    work: Callable[[], Awaitable[None]],
    clock: Clock,
    *,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Run a piece of work; when it raises, run it again after a growing pause.

    A return ends the supervision. After :data:`MAX_RAPID_FAILURES` in a row the work is given up; a
    run of :data:`HEALTHY_S` resets the count of failures.

    Args:
        name: Its name in the log.
        work: Starts the work anew with each call.
        clock: Measures how long it ran without failure.
        pause: Waits for the given number of seconds.
    """
    failures = 0
    while True:
        began = clock.monotonic()
        try:
            await work()
        except Exception:
            if clock.monotonic() - began >= HEALTHY_S:
                failures = 0
            failures += 1
            if failures >= MAX_RAPID_FAILURES:
                log.exception("%s failed %d times and is given up", name, failures)
                return
            log.exception("%s failed and is started again", name)
        else:
            return
        await pause(min(_LONGEST_PAUSE_S, 2.0**failures))
