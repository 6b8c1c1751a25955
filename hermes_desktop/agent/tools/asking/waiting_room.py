"""The base of queues in which an agent's thread waits for the user.

Approvals and questions are kept in queues of this kind. Components that can show requests
*attend*: the window, a terminal, the chats of a gateway, programs that use our protocol. A request
without an attendant ends immediately, and so does one that loses its last attendant. All functions
are thread-safe.
"""

import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from hermes_desktop.agent.tools.asking.moved_keys import ChatKeyAliases
from hermes_desktop.agent.tools.asking.wait_meter import wait_for_user
from hermes_desktop.agent.types import CancelSignal
from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

Reason = Literal["answered", "timeout", "stopped", "nobody", "gone", "ended"]
"""How a wait ended.

By an answer, the time-out, a stopped turn, no attendant, the loss of the last attendant, or the end
of the program.
"""
_LOOK_S = 0.05


class Waits(Protocol):
    """A request that waits."""

    @property
    def id(self) -> str:
        """The identifier of the request."""
        ...

    @property
    def session_key(self) -> str:
        """The chat it came from."""
        ...


Q = TypeVar("Q", bound=Waits)
A = TypeVar("A")


class Attendant(Generic[Q, A]):
    """A component that shows requests. Its callbacks run on any thread and must not block.

    Args:
        serves: Returns whether it can show this request.
        asked: Called when a request arrives.
        settled: Called when a request ends, however; also for requests shown by other attendants.
    """

    def __init__(
        self,
        serves: Callable[[Q], bool],
        asked: Callable[[Q], object],
        settled: Callable[[Q, A], object] = lambda _request, _answer: None,
    ) -> None:
        self.serves = serves
        self.asked = asked
        self.settled = settled


@dataclass(slots=True, eq=False)
class _Waiting(Generic[Q, A]):
    request: Q
    cancel: CancelSignal
    shown_by: set[Attendant[Q, A]]
    over: threading.Event = field(default_factory=threading.Event)
    answer: A | None = None


class RequestQueue(Generic[Q, A]):
    """The queue of pending requests, in order of arrival.

    Args:
        clock: For time-outs.
        unanswered: Returns the answer where the user gave none.
    """

    def __init__(self, clock: Clock, unanswered: Callable[[Reason], A]) -> None:
        self._clock = clock
        self._unanswered = unanswered
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting[Q, A]] = {}
        self._attendants: list[Attendant[Q, A]] = []
        self._observers: list[Callable[[Q, bool], object]] = []
        self._moved = ChatKeyAliases()
        self._closed = False

    # Attendants

    def attend(self, attendant: Attendant[Q, A]) -> Callable[[], None]:
        """Show current and future requests to an attendant; call the result to end that."""
        with self._lock:
            self._attendants.append(attendant)
            present = list(self._waiting.values())
        for waiting in present:
            if waiting.answer is None and _guarded(attendant.serves, waiting.request):
                with self._lock:
                    waiting.shown_by.add(attendant)
                _guarded(attendant.asked, waiting.request)

        def leave() -> None:
            with self._lock:
                if attendant in self._attendants:
                    self._attendants.remove(attendant)
            self.withdraw(attendant)

        return leave

    def withdraw(
        self, attendant: Attendant[Q, A], which: Callable[[Q], bool] = lambda _request: True
    ) -> None:
        """Mark requests as not shown by this attendant; those shown by no other end now."""
        with self._lock:
            present = list(self._waiting.values())
        # Without the lock, because this may take other locks.
        found = [each for each in present if which(each.request)]
        with self._lock:
            for waiting in found:
                waiting.shown_by.discard(attendant)
            lost = [each for each in found if not each.shown_by]
        for waiting in lost:
            self._settle(waiting, self._unanswered("gone"))

    def observe(self, observer: Callable[[Q, bool], object]) -> Callable[[], None]:
        """Subscribe to the start (True) and end (False) of waits, without showing anything.

        Call the result to unsubscribe. The observer is called on any thread and must not block.
        """
        with self._lock:
            self._observers.append(observer)

        def leave() -> None:
            with self._lock:
                if observer in self._observers:
                    self._observers.remove(observer)

        return leave

    def close(self) -> None:
        """End all pending requests, and accept no more: the program ends."""
        with self._lock:
            self._closed = True
            found = list(self._waiting.values())
        for waiting in found:
            self._settle(waiting, self._unanswered("ended"))

    # Requests of the agent

    def ask(self, request: Q, cancel: CancelSignal, timeout_s: float) -> A:
        """Wait for the user. Blocking.

        Returns:
            The answer; one without the user when there is no attendant, when the time is over, when
            the turn was stopped, and when the program ends.
        """
        showing = {each for each in self._snapshot() if _guarded(each.serves, request)}
        waiting = _Waiting(request, cancel, set(showing))
        with self._lock:
            waiting.shown_by &= set(self._attendants)  # attendants that left meanwhile do not count
            why_not: Reason | None = "ended" if self._closed else None
            if not waiting.shown_by:
                why_not = why_not or "nobody"
            if why_not is None:
                self._waiting[request.id] = waiting
        if why_not is not None:
            return self._unanswered(why_not)
        for each in showing:
            if not _works(each.asked, request):
                self.withdraw(each, lambda one: one.id == request.id)
        self._tell_observers(request, waits=True)
        try:
            with wait_for_user():
                answer = self._wait(waiting, timeout_s)
        finally:
            with self._lock:
                self._waiting.pop(request.id, None)
            self._tell_observers(request, waits=False)
        for each in self._snapshot():
            _works(each.settled, request, answer)
        return answer

    def _wait(self, waiting: _Waiting[Q, A], timeout_s: float) -> A:
        end = self._clock.monotonic() + timeout_s
        while not waiting.over.wait(_LOOK_S):
            if waiting.cancel.is_set():
                self._settle(waiting, self._unanswered("stopped"))
            elif self._clock.monotonic() >= end:
                self._settle(waiting, self._unanswered("timeout"))
        assert waiting.answer is not None  # noqa: S101 - set before the event
        return waiting.answer

    def _settle(self, waiting: _Waiting[Q, A], answer: A) -> bool:
        """Set the answer, unless there is one already."""
        with self._lock:
            if waiting.answer is not None:
                return False
            waiting.answer = answer
            waiting.over.set()
            return True

    # Answers of the user

    def pending(self, session_key: str | None = None) -> tuple[Q, ...]:
        """Return the pending requests, oldest first."""
        with self._lock:
            found = [
                each.request
                for each in self._waiting.values()
                if each.answer is None and not each.cancel.is_set()
            ]
        if session_key is None:
            return tuple(found)
        now = self._moved.now
        return tuple(each for each in found if now(each.session_key) == now(session_key))

    def move(self, old_key: str, new_key: str) -> None:
        """Move a chat with its pending requests to another key; later requests follow."""
        self._moved.move(old_key, new_key)

    def settle(self, request_id: str, answer: Callable[[Q], A | None]) -> bool:
        """Answer a request; False when it is no longer pending, or the answer is not allowed.

        A request of a stopped turn is no longer pending, even before its thread notices the stop:
        an answer that arrives late must not make the assistant act.

        Args:
            request_id: The request.
            answer: Makes the answer; None: it is not allowed.
        """
        with self._lock:
            waiting = self._waiting.get(request_id)
        if waiting is not None and waiting.cancel.is_set():
            self._settle(waiting, self._unanswered("stopped"))
        made = None if waiting is None else answer(waiting.request)
        return waiting is not None and made is not None and self._settle(waiting, made)

    def _snapshot(self) -> tuple[Attendant[Q, A], ...]:
        with self._lock:
            return tuple(self._attendants)

    def _tell_observers(self, request: Q, *, waits: bool) -> None:
        with self._lock:
            found = tuple(self._observers)
        for each in found:
            _works(each, request, waits)


def new_request_id() -> str:
    """Create an unguessable id for a request."""
    return secrets.token_hex(8)


def _guarded(call: Callable[..., object], *args: object) -> bool:
    """Return an attendant's reply; one that fails counts as absent."""
    try:
        return bool(call(*args))
    except Exception:
        log.exception("Whoever shows questions failed")
        return False


def _works(call: Callable[..., object], *args: object) -> bool:
    """Notify an attendant; return whether that succeeded."""
    try:
        call(*args)
    except Exception:
        log.exception("Whoever shows questions failed")
        return False
    return True
