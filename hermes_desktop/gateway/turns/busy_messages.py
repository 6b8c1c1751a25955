"""What becomes of a message that comes while its chat is being answered. Pure, and the words."""

import enum
from dataclasses import dataclass

from hermes_desktop.gateway.config.config_running import BusyInputMode

MAX_QUEUED = 32
"""How many messages may wait in one chat."""

ACK_INTERVAL_S = 30.0
"""A chat hears at most so often that its messages are waiting."""


class Busy(enum.Enum):
    """What is done with such a message."""

    INTERRUPT = "interrupt"
    """What runs is ended, and this is answered next."""
    QUEUE = "queue"
    """It waits for its turn."""
    STEER = "steer"
    """What runs is told of it."""
    REFUSE = "refuse"
    """Too many wait already."""


@dataclass(frozen=True, slots=True)
class BusyChat:
    """A chat that is being answered.

    Attributes:
        mode: What its owner has set.
        waiting: How many messages wait in it.
        heard: Whether the running turn has stored its own message and is not over: before, an
            interruption would lose it, afterwards there is nothing to interrupt.
        subagents: Whether the running turn has helpers at work, which an interruption would kill.
        compressing: Whether its conversation is being shortened, which must not be cut in two.
    """

    mode: BusyInputMode
    waiting: int = 0
    heard: bool = True
    subagents: bool = False
    compressing: bool = False

    def decide(self) -> Busy:
        """Say what is done with another message."""
        if self.waiting >= MAX_QUEUED:
            return Busy.REFUSE
        if self.mode == "steer":
            return Busy.STEER
        protected = self.subagents or self.compressing or not self.heard
        if self.mode == "interrupt" and not protected:
            return Busy.INTERRUPT
        return Busy.QUEUE


def acknowledgement(busy: Busy, *, position: int, minutes: int) -> str:
    """What the chat hears of it.

    Args:
        busy: What is done.
        position: Which of the waiting messages it is, from 1.
        minutes: For how many minutes the running turn has been at work.
    """
    since = f" (at work for {minutes} min)" if minutes >= 1 else ""
    if busy is Busy.INTERRUPT:
        return f"I stop what I was doing{since} and turn to your message."
    if busy is Busy.STEER:
        return f"I take that into account while I work{since}."
    if position <= 1:
        return f"I answer this next{since}. /stop ends what I am doing."
    return f"I answer this in turn: {position - 1} before it{since}. /stop drops what waits."


def is_stale(
    *, now: float, began_at: float, active_at: float, timeout_s: float, has_agent: bool
) -> bool:
    """Whether a running turn is to be given up for dead. All times are monotonic seconds.

    Args:
        now: The present.
        began_at: When it got its claim.
        active_at: When it was last seen to do something.
        timeout_s: How long it may be silent; 0: for ever.
        has_agent: Whether its agent was made already; while it is being made it is never stale.
    """
    if not has_agent or timeout_s <= 0:
        return False
    return now - active_at >= timeout_s or now - began_at >= max(10 * timeout_s, 7200.0)
