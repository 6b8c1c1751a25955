"""Signals that ask a program with a loop to do something, while it runs."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterable, Iterator


@contextlib.contextmanager
def heard_signals(names: Iterable[str], ask: Callable[[], object]) -> Iterator[None]:
    """Have signals call a function on the running loop; Windows has no handlers on a loop.

    Args:
        names: Such as ``SIGTERM``; those that this system lacks are passed over.
        ask: What each of them calls.
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
    """Whether a signal is ignored, as ``nohup`` does: it wants to be left alone."""
    number = getattr(signal, name, None)
    return number is not None and signal.getsignal(number) is signal.SIG_IGN
