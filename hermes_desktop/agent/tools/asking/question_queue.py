"""What the assistant asks a person: one queue beside that of approvals, with the same manners."""

import re
from dataclasses import dataclass

from hermes_desktop.agent.tools.asking import waiting_room
from hermes_desktop.agent.tools.asking.waiting_room import Reason, WaitingRoom
from hermes_desktop.core.clock import Clock
from hermes_desktop.state.records.content_codec import clean_text

MOST_ANSWER = 8000
"""How long an answer may be; the rest is cut off."""
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class Question:
    """Something the assistant asks. Its texts are the model's: shown plain, never obeyed.

    Attributes:
        session_key: The chat it came from.
        session_id: The conversation.
        user_id: Who wrote there, "" where that is the person at this machine.
        platform: Where: ``desktop``, ``cli``, ``telegram``, …
        text: What is asked.
        choices: Answers to choose from; may be empty. Any other answer may be given, too.
        asked_at: In seconds since the epoch.
        expires_at: When the assistant goes on without an answer, likewise.
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
    """How a question ended.

    Attributes:
        text: The answer; "" when there is none, because nobody gave one or it was skipped.
        by: Where it was answered: ``window``, ``terminal``, ``rpc``, a platform; "" by nobody.
    """

    text: str
    reason: Reason
    by: str = ""


class QuestionAttendant(waiting_room.Attendant[Question, QuestionReply]):
    """Who shows questions; see :class:`~.waiting_room.Attendant`."""


class QuestionQueue(WaitingRoom[Question, QuestionReply]):
    """Keeps the questions in the order they came.

    Args:
        clock: For time-outs.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, _unanswered)

    def answer(self, request_id: str, text: str, by: str = "") -> bool:
        """Answer one; False when it does not wait any more.

        Args:
            request_id: Which.
            text: The answer, or the number of a choice; blank skips the question.
            by: Where the person answered.
        """

        def made(question: Question) -> QuestionReply:
            return QuestionReply(chosen(question.choices, text), "answered", by)

        return self.settle(request_id, made)


def chosen(choices: tuple[str, ...], text: str) -> str:
    """The answer that was meant: a choice where its number was given, else what was written."""
    words = clean_text(text).strip()
    number = words.strip(".)# ")
    if number.isdecimal() and 1 <= int(number[:9]) <= len(choices):
        return choices[int(number[:9]) - 1]
    return words[:MOST_ANSWER]


def plain(text: str) -> str:
    """A model's text without what controls a terminal or turns the direction of writing."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", clean_text(text).replace("\r\n", "\n"))


def _unanswered(reason: Reason) -> QuestionReply:
    return QuestionReply("", reason)
