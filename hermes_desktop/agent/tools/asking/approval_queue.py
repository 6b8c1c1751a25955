"""The queue of approval requests, shared by window, chats, terminal and other programs.

An agent's thread submits a request and waits; attendants show the requests. A request that no
attendant shows is denied immediately, and one that is not answered in time is denied, too. All
functions are thread-safe.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hermes_desktop.agent.tools.asking import waiting_room
from hermes_desktop.agent.tools.asking.waiting_room import Reason, RequestQueue, new_request_id
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
    """An action that waits for approval.

    Attributes:
        session_key: The chat it came from.
        session_id: The session.
        user_id: The sender in that chat, "" for the user at this machine.
        platform: Where: ``desktop``, ``cli``, ``telegram``, …
        tool: Name of the tool.
        what: The command, or the file with its new content, without secrets.
        where: The folder it works in.
        why: Why approval is needed: sentences, one per reason.
        choices: The possible answers.
        asked_at: In seconds since the epoch.
        expires_at: When it is denied automatically, likewise.
        keys: The same reasons as identifiers for programs.
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
    """The outcome of an approval request.

    Attributes:
        by: Where it was answered: ``window``, ``terminal``, ``rpc``, a platform; "" if it was not.
    """

    choice: Choice
    reason: Reason
    by: str = ""


class Attendant(waiting_room.Attendant[ApprovalRequest, Answered]):
    """An attendant that shows approval requests; see :class:`~.waiting_room.Attendant`."""


class ApprovalQueue(RequestQueue[ApprovalRequest, Answered]):
    """The queue of approval requests, in order of arrival.

    Args:
        clock: For time-outs.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, _denied)
        self._free: set[str] = set()
        self._followers: list[Callable[[str, str], object]] = []

    def answer(self, request_id: str, choice: Choice, by: str = "") -> bool:
        """Answer a request; False when it is no longer pending, or the choice is not offered.

        Args:
            request_id: The request.
            choice: One of its choices.
            by: Where the user answered.
        """

        def made(request: ApprovalRequest) -> Answered | None:
            return Answered(choice, "answered", by) if choice in request.choices else None

        return self.settle(request_id, made)

    # Chats without approvals

    def is_free(self, session_key: str) -> bool:
        """Return whether a chat needs no approvals (``/yolo``)."""
        with self._lock:
            return self._moved.now(session_key) in self._free

    def set_free(self, session_key: str, *, free: bool) -> None:
        """Switch approvals of a chat off, or on again."""
        key = self._moved.now(session_key)
        with self._lock:
            if free:
                self._free.add(key)
            else:
                self._free.discard(key)

    def on_move(self, follower: Callable[[str, str], object]) -> None:
        """Subscribe to changes of chat keys: called with the old and the new one."""
        with self._lock:
            self._followers.append(follower)

    def move(self, old_key: str, new_key: str) -> None:
        """Move a chat's pending requests and its approval switch to another key."""
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
