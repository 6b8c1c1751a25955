"""Calls of code that may hang: each runs on its own daemon thread, awaited for a bounded time."""

import contextvars
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_LOOK_S = 0.05


class PendingCall(Generic[T]):
    """A running call. It cannot be stopped; a caller whose wait times out abandons it.

    It runs with the caller's context variables.

    Args:
        call: The function; everything it raises, ``SystemExit`` included, is kept.
        name: The thread's name.
    """

    def __init__(self, call: Callable[[], T], name: str) -> None:
        self._call = call
        self._over = threading.Event()
        self._result: list[T] = []
        self._error: BaseException | None = None
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._run,), name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            self._result.append(self._call())
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            self._error = error
        finally:
            self._over.set()

    def result(self, seconds: float, given_up: Callable[[], bool] | None = None) -> T:
        """Wait for the result. Blocks.

        Args:
            seconds: The time-out.
            given_up: Polled while waiting; True ends the wait, too.

        Raises:
            TimeoutError: The call has not ended.
            BaseException: Whatever the call raised.
        """
        left = seconds
        while not self._over.wait(left if given_up is None else min(left, _LOOK_S)):
            left -= _LOOK_S
            if given_up is None or left <= 0 or given_up():
                raise TimeoutError("A call did not end in time and was left behind")
        if self._error is not None:
            raise self._error
        return self._result[0]


def call_within(
    seconds: float,
    call: Callable[[], T],
    *,
    name: str,
    given_up: Callable[[], bool] | None = None,
) -> T:
    """Call something and wait for it; see :class:`PendingCall`."""
    return PendingCall(call, name).result(seconds, given_up)
