"""Decisions and messages about chats whose replies a restart interrupted."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hermes_desktop.gateway.sessions.session_records import SessionEntry
from hermes_desktop.state.records.records import Message

CUT_OFF = "restart_interrupted"
"""Resume reason of a chat with a running turn; stored in case the process is killed."""

RESUME_REASONS = frozenset({CUT_OFF, "restart_timeout", "shutdown_timeout"})
MAX_ATTEMPTS = 3
MAX_BOOTS = 3

PROMPT = "[Continued after a restart]"
NOTE = (
    "[Note: your last answer in this conversation was cut off by a restart of the program. "
    "Continue with the last request. Do not repeat what is done already.]"
)
_NOTE_FOR_OLDER = (
    "[Note: the program was restarted before the message that follows was answered, and something "
    "else was said in this conversation since. Answer this message now. Do not repeat what is done "
    "already.]"
)
_MOST_QUOTED = 4_000
NOTE_FOR_NEW_MESSAGE = (
    "[Note: your last answer in this conversation was cut off by a restart of the program. "
    "What follows is the user's next message.]"
)
SEND_AGAIN = (
    "I was restarted while working on your last message. If you did not get an answer, please "
    "send it again."
)
GIVEN_UP = (
    "I was interrupted several times while working on your last message and will not try "
    "again. Your next message starts a new session."
)
BACK = "The gateway is running again."


class ResumeDecision(enum.Enum):
    """The treatment of a chat whose reply may have been interrupted."""

    CONTINUE = "continue"
    """Its last request is open: resume it."""
    TELL = "tell"
    """A message may have been lost on its way into the session, or the session was ended since."""
    SETTLE = "settle"
    """It was used recently, and its reply exists: nothing was interrupted."""
    GIVE_UP = "give up"
    """It was interrupted too often."""
    LEAVE = "leave"
    """Not now, or too long ago; its next message continues it."""


@dataclass(frozen=True, slots=True)
class InterruptedChat:
    """A chat whose reply may have been interrupted.

    Attributes:
        session_key: The chat.
        session_id: Its session.
        certain: Its turn was running when the last run ended; otherwise it was only used recently.
        attempts: How often in a row it was resumed already.
        open_request: Whether the session ends with a message that needs a reply, or contains one
            that was followed by other messages.
        fresh: Whether it was interrupted recently enough.
        ended: Whether its session was ended since, by its reset policy.
    """

    session_key: str
    session_id: str
    certain: bool
    attempts: int
    open_request: bool
    fresh: bool
    ended: bool = False

    def fate(self, *, inbox_kept: bool) -> ResumeDecision:
        """Decide how to treat the chat.

        Args:
            inbox_kept: Messages that were not stored in their session are kept elsewhere.
        """
        if not self.open_request and not self.certain:
            return ResumeDecision.SETTLE
        if not self.fresh:
            return ResumeDecision.LEAVE
        if self.attempts >= MAX_ATTEMPTS:
            return ResumeDecision.GIVE_UP
        if self.open_request:
            return ResumeDecision.TELL if self.ended else ResumeDecision.CONTINUE
        return ResumeDecision.SETTLE if inbox_kept else ResumeDecision.TELL


def note_for(unanswered: str) -> str:
    """Return the note for an agent that resumes a chat.

    Args:
        unanswered: The unanswered message, if the session does not end with it any more.
    """
    return f"{_NOTE_FOR_OLDER}\n\n{unanswered[:_MOST_QUOTED]}" if unanswered.strip() else NOTE


def is_fresh(entry: SessionEntry, now: datetime, fresh_s: float) -> bool:
    """Return whether a reply may still be resumed; ``fresh_s`` of 0 or less: always."""
    marked = entry.last_resume_marked_at or entry.updated_at
    return fresh_s <= 0 or (now - marked).total_seconds() <= fresh_s


def wants_answer(last: Message | None, *, certain: bool, settled: bool) -> bool:
    """Return whether a session waits for a reply.

    Args:
        last: The message it ends with.
        certain: A turn of it ran when the last run ended.
        settled: The chat was last used after that message: its turn ended, well or not.
    """
    if last is None or (settled and not certain):
        return False
    if last.role == "assistant":
        return bool(last.tool_calls) or (certain and last.finish_reason == "interrupted")
    return last.role in {"user", "tool"}


def count_attempts(
    counts: Mapping[str, int], continued: set[str], pending: set[str]
) -> dict[str, int]:
    """Return the counts after another attempt at some chats; recovered chats are dropped."""
    kept = {key: count for key, count in counts.items() if key in pending}
    return kept | {key: counts.get(key, 0) + 1 for key in continued}
