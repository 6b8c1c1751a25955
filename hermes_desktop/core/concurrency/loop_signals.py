"""Calls that reach a running event loop from outside: process signals, reports of threads."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


@contextlib.contextmanager
def signal_handlers(names: Iterable[str], ask: Callable[[], object]) -> Iterator[None]:
    """Call a function on the running loop for each signal; Windows loops have no signal handlers.

    Args:
        names: Such as ``SIGTERM``; signals that this system lacks are skipped.
        ask: The function that each signal calls.
    """
    loop = asyncio.get_running_loop()
    taken: list[signal.Signals] = []
    for name in names:
        number = getattr(signal, name, None)
        if number is None:
            continue
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(number, ask)
            taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


def is_ignored(name: str) -> bool:
    """Return whether a signal is ignored, as under ``nohup``."""
    number = getattr(signal, name, None)
    return number is not None and signal.getsignal(number) is signal.SIG_IGN


@contextlib.contextmanager
def calls_on_loop(function: Callable[[T], object]) -> Iterator[Callable[[T], None]]:
    """Yield a function for other threads that calls this one on the running loop.

    Calls that arrive after the block has ended are dropped.
    """
    loop = asyncio.get_running_loop()
    ended = False

    def call(value: T) -> None:
        if not ended:
            function(value)

    def call_soon(value: T) -> None:
        loop.call_soon_threadsafe(call, value)

    try:
        yield call_soon
    finally:
        ended = True
