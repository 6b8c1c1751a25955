"""Requests to end a hosted gateway: cause, remaining time, and whether it restarts."""

import asyncio
from dataclasses import dataclass, replace
from typing import Literal

from hermes_desktop.gateway.runtime_files.identity_events import (
    HardStop,
    IdentityLost,
    StopRequested,
)

EndCause = Literal[
    "person", "closing", "stop", "takeover", "kill", "restart", "gone", "failed", "not_ours"
]

_WORDS = {
    "person": "",
    "closing": "",
    "stop": "The gateway was stopped by the command line.",
    "takeover": "Another gateway took over this home.",
    "kill": "The gateway was stopped by another program.",
    "restart": "The gateway was asked to restart.",
}
_FROM_OUTSIDE = frozenset({"stop", "takeover", "kill"})


@dataclass(frozen=True, slots=True)
class Ending:
    """One request to end the gateway.

    Attributes:
        drain_until: Time on the monotonic clock until which running turns may finish.
        deadline: Time by which the home must be released; None when nothing waits for it.
        comes_back: Whether the gateway is started again afterwards with re-read settings.
        from_outside: Whether platforms are disconnected first, before turns end, because the
            requesting process waits for that.
        identity_gone: Whether the identity is already lost, so that there is nothing to release.
        words: The explanation shown to the user; "" when the user made the request.
    """

    cause: EndCause
    drain_until: float
    deadline: float | None = None
    comes_back: bool = False
    from_outside: bool = False
    identity_gone: bool = False
    words: str = ""

    @property
    def stopped_from_outside(self) -> bool:
        """Whether another process stopped it, so that it never restarts automatically."""
        return self.cause in _FROM_OUTSIDE

    def and_also(self, other: "Ending") -> "Ending":
        """Merge two requests: the earlier times apply, and it restarts only if both want that."""
        deadlines = [each.deadline for each in (self, other) if each.deadline is not None]
        final = other if self.comes_back and not other.comes_back else self
        return replace(
            final,
            drain_until=min(self.drain_until, other.drain_until),
            deadline=min(deadlines, default=None),
            comes_back=self.comes_back and other.comes_back,
            from_outside=self.from_outside or other.from_outside,
            identity_gone=self.identity_gone or other.identity_gone,
        )


def requested_ending(event: StopRequested) -> Ending:
    """Return the ending for a stop requested by another process."""
    return Ending(
        event.kind,
        event.drain_until,
        deadline=event.deadline,
        comes_back=event.comes_back,
        from_outside=True,
        words=_WORDS[event.kind],
    )


def forced_ending(event: HardStop | IdentityLost, now: float) -> Ending:
    """Return the ending for an identity that is already lost."""
    if isinstance(event, HardStop):
        cause: EndCause = event.kind or "gone"
        words = _WORDS.get(cause) or event.detail
    else:
        cause = "gone"
        words = (
            "The home no longer exists."
            if event.owner is None
            else "Another gateway runs for this home."
        )
    return Ending(cause, now, deadline=now, from_outside=True, identity_gone=True, words=words)


class StopRequests:
    """The merged requests to end one run of the gateway. For one event loop."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._waiting: list[asyncio.Future[None]] = []
        self._ending: Ending | None = None

    @property
    def ending(self) -> Ending | None:
        """The merged request so far; None if there is none."""
        return self._ending

    def add(self, ending: Ending) -> None:
        """Merge one more request into the current one."""
        self._ending = ending if self._ending is None else self._ending.and_also(ending)
        self._asked.set()
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def asked(self) -> Ending:
        """Wait for the first request and return it."""
        await self._asked.wait()
        return self.now()

    def now(self) -> Ending:
        """Return the merged request.

        Raises:
            RuntimeError: There is no request.
        """
        if self._ending is None:
            raise RuntimeError("the gateway was not asked to end")
        return self._ending

    def changed(self) -> "asyncio.Future[None]":
        """Return a future that is done at the next request; may be cancelled."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future
