"""Decisions about messages to a busy chat, and their acknowledgements. Pure functions."""

import enum
from dataclasses import dataclass

from hermes_desktop.gateway.config.config_running import BusyInputMode

MAX_QUEUED = 32
"""Maximum number of waiting messages in one chat."""

ACK_INTERVAL_S = 30.0
"""Minimum time between two acknowledgements of waiting messages in a chat."""


class Busy(enum.Enum):
    """The handling of a message to a busy chat."""

    INTERRUPT = "interrupt"
    """The running turn is interrupted, and this message is answered next."""
    QUEUE = "queue"
    """The message waits for its turn."""
    STEER = "steer"
    """The message is passed to the running turn."""
    REFUSE = "refuse"
    """Too many messages wait already."""


@dataclass(frozen=True, slots=True)
class BusyChat:
    """A busy chat.

    Attributes:
        mode: The configured busy mode.
        waiting: The number of waiting messages.
        heard: Whether the running turn has stored its own message and is not over: before, an
            interruption would lose it, afterwards there is nothing to interrupt.
        subagents: Whether the running turn has subagents at work, which an interruption would kill.
        compressing: Whether its session is being compacted, which must not be interrupted.
    """

    mode: BusyInputMode
    waiting: int = 0
    heard: bool = True
    subagents: bool = False
    compressing: bool = False

    def decide(self) -> Busy:
        """Decide how to handle another message."""
        if self.waiting >= MAX_QUEUED:
            return Busy.REFUSE
        if self.mode == "steer":
            return Busy.STEER
        protected = self.subagents or self.compressing or not self.heard
        if self.mode == "interrupt" and not protected:
            return Busy.INTERRUPT
        return Busy.QUEUE


def acknowledgement(busy: Busy, *, position: int, minutes: int) -> str:
    """Return the acknowledgement for the chat.

    Args:
        busy: How the message is handled.
        position: Its position among the waiting messages, from 1.
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
    """Return whether a running turn is considered dead. All times are monotonic seconds.

    Args:
        now: The current time.
        began_at: When it got its claim.
        active_at: The time of its last activity.
        timeout_s: How long it may be inactive; 0: forever.
        has_agent: Whether its agent is created already; before that it is never stale.
    """
    if not has_agent or timeout_s <= 0:
        return False
    return now - active_at >= timeout_s or now - began_at >= max(10 * timeout_s, 7200.0)
