"""Turns that other programs seem to be at, as far as the shared file tells."""

from hermes_desktop.core.clock import Clock
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records import Message

FRESH_S = 300.0
"""A session without news for so long counts as left alone, whatever its last message is."""

_MOST_WORDS = 60


class OpenTurns:
    """Says in which sessions somebody is still expected to answer. Any thread may ask.

    A program that runs a turn stores what was said before it stores the reply. It does not say
    when it gives up, so a message without a reply counts as a running turn for five minutes.

    Args:
        db: The shared file.
        clock: Where times come from.
    """

    def __init__(self, db: SessionDB, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    def turn_in(self, session_id: str) -> str | None:
        """The turn in words that end a sentence, None when there seems to be none."""
        row = self._db.get_session(session_id)
        if row is None or row.get("ended_at") is not None:
            return None
        last = self._db.read_messages(session_id, limit=1)
        if not last or not _wants_reply(last[0]):
            return None
        age = self._clock.time() - last[0].timestamp
        if not 0 <= age < FRESH_S:
            return None
        return f"“{_words(self._asked(session_id, last[0]))}” got its latest news {age:.0f} s ago"

    def _asked(self, session_id: str, last: Message) -> str:
        """What the turn is about: the words of the person, where they are near."""
        for message in reversed(self._db.read_messages(session_id, limit=20)):
            if message.role == "user" and message.content.strip():
                return message.content
        return last.content or last.role


def _wants_reply(message: Message) -> bool:
    return message.role in {"user", "tool"} or bool(
        message.role == "assistant" and message.tool_calls
    )


def _words(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_WORDS else flat[: _MOST_WORDS - 1] + "…"
