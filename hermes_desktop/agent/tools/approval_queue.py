"""What waits for a person's word: one queue for window, chats and command line.

An agent's thread asks and waits; whoever can show the question attends. What nobody attends is
denied at once, and what nobody answers in time is denied, too. Any thread may call anything here.
"""

import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from hermes_desktop.agent.types import CancelSignal
from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

Choice = Literal["once", "session", "always", "deny"]
Reason = Literal["answered", "timeout", "stopped", "nobody"]
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """Something that waits for a person's word.

    Attributes:
        session_key: The chat it came from.
        session_id: The conversation.
        user_id: Who wrote there, "" where that is the person at this machine.
        platform: Where: ``desktop``, ``cli``, ``telegram``, …
        tool: Name of the tool.
        what: The command or the file, without secrets.
        where: The folder it works in.
        why: Why it is held: sentences, one per reason.
        choices: What may be answered.
        asked_at: In seconds since the epoch.
        expires_at: When it is denied by itself, likewise.
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


@dataclass(frozen=True, slots=True)
class Answered:
    """How a question ended."""

    choice: Choice
    reason: Reason


class Attendant:
    """Who shows questions. Both are called on any thread and must not block.

    Args:
        serves: Whether a question can be shown by this one.
        asked: A question came.
        settled: It ended, by whatever.
    """

    def __init__(
        self,
        serves: Callable[[ApprovalRequest], bool],
        asked: Callable[[ApprovalRequest], object],
        settled: Callable[[ApprovalRequest, Answered], object] = lambda _request, _answer: None,
    ) -> None:
        self.serves = serves
        self.asked = asked
        self.settled = settled


@dataclass(slots=True, eq=False)
class _Waiting:
    request: ApprovalRequest
    over: threading.Event = field(default_factory=threading.Event)
    answer: Answered | None = None


class ApprovalQueue:
    """Keeps the questions in the order they came.

    Args:
        clock: For the times in questions.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._attendants: list[Attendant] = []
        self._free: set[str] = set()

    # Who shows questions

    def attend(self, attendant: Attendant) -> Callable[[], None]:
        """Show questions from now on; the result ends that."""
        with self._lock:
            self._attendants.append(attendant)

        def leave() -> None:
            with self._lock:
                if attendant in self._attendants:
                    self._attendants.remove(attendant)

        return leave

    # The agent's side

    def ask(self, request: ApprovalRequest, cancel: CancelSignal, timeout_s: float) -> Answered:
        """Wait for a person's word. Blocking.

        Returns:
            The answer; a denial when nobody can be asked, when the time is over, and when the
            turn was stopped.
        """
        showing = [each for each in self._snapshot() if _guarded(each.serves, request)]
        if not showing:
            return Answered("deny", "nobody")
        waiting = _Waiting(request)
        with self._lock:
            self._waiting[request.id] = waiting
        for each in showing:
            _guarded(each.asked, request)
        try:
            answer = self._wait(waiting, cancel, timeout_s)
        finally:
            with self._lock:
                self._waiting.pop(request.id, None)
        for each in self._snapshot():
            _guarded(lambda one=each: one.settled(request, answer))
        return answer

    def _wait(self, waiting: _Waiting, cancel: CancelSignal, timeout_s: float) -> Answered:
        end = self._clock.monotonic() + timeout_s
        while not waiting.over.wait(_LOOK_S):
            if cancel.is_set():
                self._settle(waiting, Answered("deny", "stopped"))
            elif self._clock.monotonic() >= end:
                self._settle(waiting, Answered("deny", "timeout"))
        return waiting.answer or Answered("deny", "stopped")

    def _settle(self, waiting: _Waiting, answer: Answered) -> bool:
        """Answer, unless somebody was faster."""
        with self._lock:
            if waiting.answer is not None:
                return False
            waiting.answer = answer
            waiting.over.set()
            return True

    # The person's side

    def pending(self, session_key: str | None = None) -> tuple[ApprovalRequest, ...]:
        """What waits, the oldest first."""
        with self._lock:
            found = [each.request for each in self._waiting.values() if each.answer is None]
        return tuple(each for each in found if session_key in (None, each.session_key))

    def answer(self, request_id: str, choice: Choice) -> bool:
        """Answer one; False when it does not wait any more, or may not be answered so."""
        with self._lock:
            waiting = self._waiting.get(request_id)
        if waiting is None or choice not in waiting.request.choices:
            return False
        return self._settle(waiting, Answered(choice, "answered"))

    # What needs no word

    def is_free(self, session_key: str) -> bool:
        """Whether a chat asks nobody (``/yolo``)."""
        with self._lock:
            return session_key in self._free

    def set_free(self, session_key: str, *, free: bool) -> None:
        """Let a chat ask nobody, or ask again."""
        with self._lock:
            if free:
                self._free.add(session_key)
            else:
                self._free.discard(session_key)

    def _snapshot(self) -> tuple[Attendant, ...]:
        with self._lock:
            return tuple(self._attendants)


def new_request_id() -> str:
    """An id for one question; not to be guessed."""
    return secrets.token_hex(8)


def _guarded(call: Callable[..., object], *args: object) -> bool:
    """Call an attendant; one that fails is as if it were not there."""
    try:
        return bool(call(*args))
    except Exception:
        log.exception("Whoever shows questions failed")
        return False
