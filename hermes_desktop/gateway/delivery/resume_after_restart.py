"""What becomes of chats whose answers a restart cut off. Decisions over plain values, and words."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hermes_desktop.gateway.sessions.session_records import SessionEntry
from hermes_desktop.state.records.records import Message

CUT_OFF = "restart_interrupted"
"""Why a chat is to be taken up whose turn runs: it stands there in case we are killed."""

RESUME_REASONS = frozenset({CUT_OFF, "restart_timeout", "shutdown_timeout"})
MAX_ATTEMPTS = 3
MAX_BOOTS = 3

PROMPT = "[Continued after a restart]"
NOTE = (
    "[Note: your last answer in this conversation was cut off by a restart of the program. "
    "Go on with the last request. Do not repeat what is done already.]"
)
_NOTE_FOR_OLDER = (
    "[Note: the program was restarted before the message that follows was answered, and something "
    "else was said in this conversation since. Answer this message now. Do not repeat what is done "
    "already.]"
)
_MOST_QUOTED = 4_000
NOTE_FOR_NEW_MESSAGE = (
    "[Note: your last answer in this conversation was cut off by a restart of the program. "
    "What follows is the person's next message.]"
)
SEND_AGAIN = (
    "I was restarted while I worked on your last message. "
    "If you got no answer to it, please send it again."
)
GIVEN_UP = (
    "I was cut off several times while I worked on your last message, so I do not try again. "
    "Your next message begins a new session."
)
BACK = "The gateway runs again."


class Fate(enum.Enum):
    """What is done about a chat that was cut off."""

    CONTINUE = "continue"
    """Its last request is open: go on with it."""
    TELL = "tell"
    """A message may have been lost on its way into the conversation, or that was ended since."""
    SETTLE = "settle"
    """It was used lately, and its answer is there: nothing was cut off."""
    GIVE_UP = "give up"
    """It was cut off too often."""
    LEAVE = "leave"
    """Not now, or too long ago; its next message goes on with it."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """A chat that may have been cut off.

    Attributes:
        session_key: The chat.
        session_id: Its conversation.
        certain: A turn of it ran when the last run ended; otherwise it was only used lately.
        attempts: How often it was taken up already, in a row.
        open_request: Whether the conversation ends with something that wants an answer, or others
            went on in it after something that does.
        fresh: Whether it was cut off not too long ago.
        ended: Whether its conversation was ended since, by its reset policy.
    """

    session_key: str
    session_id: str
    certain: bool
    attempts: int
    open_request: bool
    fresh: bool
    ended: bool = False

    def fate(self, *, inbox_kept: bool) -> Fate:
        """Decide.

        Args:
            inbox_kept: Messages that did not get into their conversation are kept elsewhere.
        """
        if not self.open_request and not self.certain:
            return Fate.SETTLE
        if not self.fresh:
            return Fate.LEAVE
        if self.attempts >= MAX_ATTEMPTS:
            return Fate.GIVE_UP
        if self.open_request:
            return Fate.TELL if self.ended else Fate.CONTINUE
        return Fate.SETTLE if inbox_kept else Fate.TELL


def note_for(unanswered: str) -> str:
    """What an agent is told that goes on with a chat.

    Args:
        unanswered: What was said there, if the conversation does not end with it any more.
    """
    return f"{_NOTE_FOR_OLDER}\n\n{unanswered[:_MOST_QUOTED]}" if unanswered.strip() else NOTE


def is_fresh(entry: SessionEntry, now: datetime, fresh_s: float) -> bool:
    """Whether an answer may still be taken up; ``fresh_s`` of 0 or less: always."""
    marked = entry.last_resume_marked_at or entry.updated_at
    return fresh_s <= 0 or now - marked <= timedelta(seconds=fresh_s)


def wants_answer(last: Message | None, *, certain: bool, settled: bool) -> bool:
    """Whether a conversation waits for an answer.

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
    """The counts after another attempt at some chats; those that are well are not counted."""
    kept = {key: count for key, count in counts.items() if key in pending}
    return kept | {key: counts.get(key, 0) + 1 for key in continued}
