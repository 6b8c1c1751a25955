"""How a hosted gateway ends: who wants it, how much time is left, and whether it comes back."""

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
    "takeover": "Another gateway took the home over.",
    "kill": "The gateway was stopped by another program.",
    "restart": "The gateway was asked to restart.",
}
_FROM_OUTSIDE = frozenset({"stop", "takeover", "kill"})


@dataclass(frozen=True, slots=True)
class Ending:
    """One wish that the gateway end.

    Attributes:
        drain_until: Until when running turns may end by themselves, on the monotonic clock.
        deadline: When the home must have been given back; None: nobody waits for it.
        comes_back: The gateway is started again afterwards, with settings read anew.
        from_outside: Platforms are left at once, before turns end: who asked waits for that.
        identity_gone: There is nothing left to give back.
        words: What a person reads about it; "" when they wanted it.
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
        """Whether somebody else wanted it to stay off: it never comes back by itself then."""
        return self.cause in _FROM_OUTSIDE

    def and_also(self, other: "Ending") -> "Ending":
        """Both wishes: the shorter time counts, and it comes back only if both want that."""
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


def asked_by(event: StopRequested) -> Ending:
    """The ending that somebody outside asked for."""
    return Ending(
        event.kind,
        event.drain_until,
        deadline=event.deadline,
        comes_back=event.comes_back,
        from_outside=True,
        words=_WORDS[event.kind],
    )


def forced_by(event: HardStop | IdentityLost, now: float) -> Ending:
    """The ending when the identity is gone already."""
    if isinstance(event, HardStop):
        cause: EndCause = event.kind or "gone"
        words = _WORDS.get(cause) or event.detail
    else:
        cause = "gone"
        words = "The home is gone." if event.owner is None else "Another gateway has the home."
    return Ending(cause, now, deadline=now, from_outside=True, identity_gone=True, words=words)


class EndingWish:
    """What is wished of one run of the gateway, as it becomes more urgent. For one loop."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._waiting: list[asyncio.Future[None]] = []
        self._ending: Ending | None = None

    @property
    def ending(self) -> Ending | None:
        """The wish as it is now; None while nobody has one."""
        return self._ending

    def add(self, ending: Ending) -> None:
        """Take one more wish."""
        self._ending = ending if self._ending is None else self._ending.and_also(ending)
        self._asked.set()
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def asked(self) -> Ending:
        """Wait for the first one."""
        await self._asked.wait()
        return self.now()

    def now(self) -> Ending:
        """The wish as it is now.

        Raises:
            RuntimeError: Nobody has one.
        """
        if self._ending is None:
            raise RuntimeError("nobody wants the gateway to end")
        return self._ending

    def changed(self) -> "asyncio.Future[None]":
        """Done once there is another one than at this call; may be cancelled."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future
