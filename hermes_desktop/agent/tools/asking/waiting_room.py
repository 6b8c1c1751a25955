"""Where an agent's thread waits for a person: who can show what waits, and how waiting ends.

Approvals and questions are kept in rooms of this kind. Whoever can show something *attends*: the
window, a terminal, the chats of a gateway, programs that speak our protocol. What nobody attends
ends at once, and so does what nobody attends any more. Any thread may call anything here.
"""

import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from hermes_desktop.agent.tools.asking.moved_keys import MovedKeys
from hermes_desktop.agent.types import CancelSignal
from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

Reason = Literal["answered", "timeout", "stopped", "nobody", "gone", "ended"]
"""How waiting ended: a person, the time, a stopped turn, nobody there, nobody there any more, or
the end of the program."""
_LOOK_S = 0.05


class Waits(Protocol):
    """Something that waits."""

    @property
    def id(self) -> str:
        """Names it."""
        ...

    @property
    def session_key(self) -> str:
        """The chat it came from."""
        ...


Q = TypeVar("Q", bound=Waits)
A = TypeVar("A")


class Attendant(Generic[Q, A]):
    """Who shows what waits. All are called on any thread and must not block.

    Args:
        serves: Whether this can be shown by this one.
        asked: It came.
        settled: It ended, by whatever; also told of what others show.
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
    shown_by: set[Attendant[Q, A]]
    over: threading.Event = field(default_factory=threading.Event)
    answer: A | None = None


class WaitingRoom(Generic[Q, A]):
    """Keeps what waits in the order it came.

    Args:
        clock: For time-outs.
        unanswered: The answer where no person gave one.
    """

    def __init__(self, clock: Clock, unanswered: Callable[[Reason], A]) -> None:
        self._clock = clock
        self._unanswered = unanswered
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting[Q, A]] = {}
        self._attendants: list[Attendant[Q, A]] = []
        self._observers: list[Callable[[Q, bool], object]] = []
        self._moved = MovedKeys()
        self._closed = False

    # Who shows what waits

    def attend(self, attendant: Attendant[Q, A]) -> Callable[[], None]:
        """Show what waits from now on, and what waits already; the result ends that."""
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
        """This one cannot show these any more; what nobody else shows ends now."""
        with self._lock:
            present = list(self._waiting.values())
        # Without the lock, because this may take others.
        found = [each for each in present if which(each.request)]
        with self._lock:
            for waiting in found:
                waiting.shown_by.discard(attendant)
            lost = [each for each in found if not each.shown_by]
        for waiting in lost:
            self._settle(waiting, self._unanswered("gone"))

    def observe(self, observer: Callable[[Q, bool], object]) -> Callable[[], None]:
        """Hear when waiting begins (True) and is over (False), without showing anything.

        The result ends that. Called on any thread; must not block.
        """
        with self._lock:
            self._observers.append(observer)

        def leave() -> None:
            with self._lock:
                if observer in self._observers:
                    self._observers.remove(observer)

        return leave

    def close(self) -> None:
        """The program ends: nobody is asked any more, and what waits ends now."""
        with self._lock:
            self._closed = True
            found = list(self._waiting.values())
        for waiting in found:
            self._settle(waiting, self._unanswered("ended"))

    # The agent's side

    def ask(self, request: Q, cancel: CancelSignal, timeout_s: float) -> A:
        """Wait for a person. Blocking.

        Returns:
            The answer; one without a person when nobody can be asked, when the time is over, when
            the turn was stopped, and when the program ends.
        """
        showing = {each for each in self._snapshot() if _guarded(each.serves, request)}
        waiting = _Waiting(request, set(showing))
        with self._lock:
            waiting.shown_by &= set(self._attendants)  # who left meanwhile does not count
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
            answer = self._wait(waiting, cancel, timeout_s)
        finally:
            with self._lock:
                self._waiting.pop(request.id, None)
            self._tell_observers(request, waits=False)
        for each in self._snapshot():
            _works(each.settled, request, answer)
        return answer

    def _wait(self, waiting: _Waiting[Q, A], cancel: CancelSignal, timeout_s: float) -> A:
        end = self._clock.monotonic() + timeout_s
        while not waiting.over.wait(_LOOK_S):
            if cancel.is_set():
                self._settle(waiting, self._unanswered("stopped"))
            elif self._clock.monotonic() >= end:
                self._settle(waiting, self._unanswered("timeout"))
        assert waiting.answer is not None  # noqa: S101 - set before the event
        return waiting.answer

    def _settle(self, waiting: _Waiting[Q, A], answer: A) -> bool:
        """Answer, unless somebody was faster."""
        with self._lock:
            if waiting.answer is not None:
                return False
            waiting.answer = answer
            waiting.over.set()
            return True

    # The person's side

    def pending(self, session_key: str | None = None) -> tuple[Q, ...]:
        """What waits, the oldest first."""
        with self._lock:
            found = [each.request for each in self._waiting.values() if each.answer is None]
        if session_key is None:
            return tuple(found)
        now = self._moved.now
        return tuple(each for each in found if now(each.session_key) == now(session_key))

    def move(self, old_key: str, new_key: str) -> None:
        """A chat goes on under another key, and so does what waits in it, also what comes late."""
        self._moved.move(old_key, new_key)

    def settle(self, request_id: str, answer: Callable[[Q], A | None]) -> bool:
        """Answer one; False when it does not wait any more, or may not be answered so.

        Args:
            request_id: Which.
            answer: Makes the answer; None: it may not be answered so.
        """
        with self._lock:
            waiting = self._waiting.get(request_id)
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
    """An id for something that waits; not to be guessed."""
    return secrets.token_hex(8)


def _guarded(call: Callable[..., object], *args: object) -> bool:
    """What an attendant says; one that fails is as if it were not there."""
    try:
        return bool(call(*args))
    except Exception:
        log.exception("Whoever shows questions failed")
        return False


def _works(call: Callable[..., object], *args: object) -> bool:
    """Tell an attendant; whether it could be told."""
    try:
        call(*args)
    except Exception:
        log.exception("Whoever shows questions failed")
        return False
    return True
