"""What waits for a person's word: one queue for window, chats, terminal and other programs.

An agent's thread asks and waits; whoever can show the question attends. What nobody attends is
denied at once, and what nobody answers in time is denied, too. Any thread may call anything here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hermes_desktop.agent.tools.asking import waiting_room
from hermes_desktop.agent.tools.asking.waiting_room import Reason, WaitingRoom, new_request_id
from hermes_desktop.core.clock import Clock

__all__ = [
    "Answered",
    "ApprovalQueue",
    "ApprovalRequest",
    "Attendant",
    "Choice",
    "Reason",
    "new_request_id",
]

Choice = Literal["once", "session", "always", "deny"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """Something that waits for a person's word.

    Attributes:
        session_key: The chat it came from.
        session_id: The conversation.
        user_id: Who wrote there, "" where that is the person at this machine.
        platform: Where: ``desktop``, ``cli``, ``telegram``, …
        tool: Name of the tool.
        what: The command, or the file with what is to stand there, without secrets.
        where: The folder it works in.
        why: Why it is held: sentences, one per reason.
        choices: What may be answered.
        asked_at: In seconds since the epoch.
        expires_at: When it is denied by itself, likewise.
        keys: The same reasons as names that programs know.
    """

    id: str
    session_key: str
    session_id: str
    user_id: str
    platform: str
    tool: str
    what: str
    where: str
    why: tuple[str, ...]
    choices: tuple[Choice, ...]
    asked_at: float
    expires_at: float
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """How a question ended.

    Attributes:
        by: Where it was answered: ``window``, ``terminal``, ``rpc``, a platform; "" by nobody.
    """

    choice: Choice
    reason: Reason
    by: str = ""


class Attendant(waiting_room.Attendant[ApprovalRequest, Answered]):
    """Who shows what waits for a word; see :class:`~.waiting_room.Attendant`."""


class ApprovalQueue(WaitingRoom[ApprovalRequest, Answered]):
    """Keeps the questions in the order they came.

    Args:
        clock: For time-outs.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, _denied)
        self._free: set[str] = set()
        self._followers: list[Callable[[str, str], object]] = []

    def answer(self, request_id: str, choice: Choice, by: str = "") -> bool:
        """Answer one; False when it does not wait any more, or may not be answered so.

        Args:
            request_id: Which.
            choice: One of its choices.
            by: Where the person answered.
        """

        def made(request: ApprovalRequest) -> Answered | None:
            return Answered(choice, "answered", by) if choice in request.choices else None

        return self.settle(request_id, made)

    # What needs no word

    def is_free(self, session_key: str) -> bool:
        """Whether a chat asks nobody (``/yolo``)."""
        with self._lock:
            return self._moved.now(session_key) in self._free

    def set_free(self, session_key: str, *, free: bool) -> None:
        """Let a chat ask nobody, or ask again."""
        key = self._moved.now(session_key)
        with self._lock:
            if free:
                self._free.add(key)
            else:
                self._free.discard(key)

    def on_move(self, follower: Callable[[str, str], object]) -> None:
        """Have somebody told of chats that go on under another key: the old one, the new one."""
        with self._lock:
            self._followers.append(follower)

    def move(self, old_key: str, new_key: str) -> None:
        """As everywhere; so does who asks nobody."""
        super().move(old_key, new_key)
        with self._lock:
            if old_key in self._free:
                self._free.discard(old_key)
                self._free.add(new_key)
            followers = tuple(self._followers)
        for follower in followers:
            follower(old_key, new_key)


def _denied(reason: Reason) -> Answered:
    return Answered("deny", reason)
