"""The queue of the assistant's questions to the user; works like the queue of approvals."""

import re
from dataclasses import dataclass

from hermes_desktop.agent.tools.asking import waiting_room
from hermes_desktop.agent.tools.asking.waiting_room import Reason, RequestQueue
from hermes_desktop.core.clock import Clock
from hermes_desktop.state.records.content_codec import clean_text

MOST_ANSWER = 8000
"""Maximum length of an answer; the rest is cut off."""
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the assistant. The model's texts are shown as plain text, never obeyed.

    Attributes:
        session_key: The chat it came from.
        session_id: The session.
        user_id: The sender in that chat, "" for the user at this machine.
        platform: Where: ``desktop``, ``cli``, ``telegram``, …
        text: The question.
        choices: Suggested answers; may be empty. Any other answer may be given, too.
        asked_at: In seconds since the epoch.
        expires_at: When the assistant continues without an answer, likewise.
    """

    id: str
    session_key: str
    session_id: str
    user_id: str
    platform: str
    text: str
    choices: tuple[str, ...]
    asked_at: float
    expires_at: float


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """The outcome of a question.

    Attributes:
        text: The answer; "" when there is none, because none was given or it was skipped.
        by: Where it was answered: ``window``, ``terminal``, ``rpc``, a platform; "" if it was not.
    """

    text: str
    reason: Reason
    by: str = ""


class QuestionAttendant(waiting_room.Attendant[Question, QuestionReply]):
    """An attendant that shows questions; see :class:`~.waiting_room.Attendant`."""


class QuestionQueue(RequestQueue[Question, QuestionReply]):
    """The queue of questions, in order of arrival.

    Args:
        clock: For time-outs.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, _unanswered)

    def answer(self, request_id: str, text: str, by: str = "") -> bool:
        """Answer a question; False when it is no longer pending.

        Args:
            request_id: The question.
            text: The answer, or the number of a choice; blank skips the question.
            by: Where the user answered.
        """

        def made(question: Question) -> QuestionReply:
            return QuestionReply(chosen(question.choices, text), "answered", by)

        return self.settle(request_id, made)


def chosen(choices: tuple[str, ...], text: str) -> str:
    """Return the intended answer: the choice with a given number, else the text itself."""
    words = clean_text(text).strip()
    number = words.strip(".)# ")
    if number.isdecimal() and 1 <= int(number[:9]) <= len(choices):
        return choices[int(number[:9]) - 1]
    return words[:MOST_ANSWER]


def plain(text: str) -> str:
    """Return a model's text without terminal controls and marks of writing direction."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", clean_text(text).replace("\r\n", "\n"))


def _unanswered(reason: Reason) -> QuestionReply:
    return QuestionReply("", reason)
