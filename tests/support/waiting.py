"""Waiting in tests: for a condition, with one limit that a slow machine does not reach.

The limit only ends a test that would hang; no test measures time with it.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 60.0
"""After this many seconds a condition counts as never becoming true."""
_STEP_S = 0.005


async def until(condition: Callable[[], T], seconds: float = PATIENCE_S) -> T:
    """Let the loop run until a condition is true, and return its value.

    Raises:
        TimeoutError: it did not become true within ``seconds``.
    """
    async with asyncio.timeout(seconds):
        while not (result := condition()):
            await asyncio.sleep(_STEP_S)
    return result


def wait_until(condition: Callable[[], T], seconds: float = PATIENCE_S) -> T:
    """Block this thread until a condition is true, and return its value.

    Raises:
        AssertionError: it did not become true within ``seconds``.
    """
    end = time.monotonic() + seconds
    never = threading.Event()
    while not (result := condition()):
        assert time.monotonic() < end, f"not true within {seconds} s"
        never.wait(_STEP_S)
    return result
