"""Measures how long a tool call waited for the user, so that its duration leaves that out."""

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class WaitMeter:
    """The time that one tool call spent waiting for the user."""

    _total: float = 0.0
    _since: float | None = None

    @property
    def seconds(self) -> float:
        """The total so far, a wait that has not ended included."""
        since = self._since
        return self._total + (time.monotonic() - since if since is not None else 0.0)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Measure one wait."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._total, self._since = self.seconds, None


_METER: ContextVar[WaitMeter | None] = ContextVar("wait_meter", default=None)


@contextlib.contextmanager
def measured_by(meter: WaitMeter) -> Iterator[None]:
    """Measure all waits of this thread by the given meter."""
    token = _METER.set(meter)
    try:
        yield
    finally:
        _METER.reset(token)


def wait_for_user() -> contextlib.AbstractContextManager[None]:
    """Mark a wait for the user, to be measured if this thread runs a tool call."""
    meter = _METER.get()
    return meter.waiting() if meter is not None else contextlib.nullcontext()
