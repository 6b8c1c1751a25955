"""The queue in which an agent's thread waits for the user: approvals and questions.

Components that can show requests *attend*: the window, a terminal, the chats of a gateway, programs
that use our protocol. A request without an attendant ends immediately, and so does one that loses
its last attendant; an approval is denied then. All functions are thread-safe.
"""

import contextlib
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from hermes_desktop.agent.tools.asking.moved_keys import ChatKeyAliases
from hermes_desktop.agent.types import CancelSignal
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.user_requests import (
    Reason,
    RequestKind,
    UserAnswer,
    UserRequest,
    unanswered,
)
from hermes_desktop.state.records.content_codec import clean_text

log = logging.getLogger(__name__)

MOST_ANSWER = 8000
"""Maximum length of an answer in the user's own words; the rest is cut off."""
_LOOK_S = 0.05
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class Attendant:
    """A component that shows requests. Its callbacks run on any thread and must not block.

    Args:
        serves: Returns whether it can show this request.
        asked: Called when a request arrives.
        settled: Called when a request ends, however; also for requests shown by other attendants.
    """

    def __init__(
        self,
        serves: Callable[[UserRequest], bool],
        asked: Callable[[UserRequest], object],
        settled: Callable[[UserRequest, UserAnswer], object] = lambda _request, _answer: None,
    ) -> None:
        self.serves = serves
        self.asked = asked
        self.settled = settled


@dataclass(slots=True, eq=False)
class _Waiting:
    request: UserRequest
    cancel: CancelSignal
    shown_by: set[Attendant]
    over: threading.Event = field(default_factory=threading.Event)
    answer: UserAnswer | None = None


class RequestQueue:
    """The queue of pending requests, in order of arrival. One for the whole program.

    Args:
        clock: For time-outs.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._attendants: list[Attendant] = []
        self._observers: list[Callable[[UserRequest, bool], object]] = []
        self._followers: list[Callable[[str, str], object]] = []
        self._enders: list[Callable[[str], object]] = []
        self._free: set[str] = set()
        self._moved = ChatKeyAliases()
        self._closed = False

    # Attendants

    def attend(self, attendant: Attendant) -> Callable[[], None]:
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
        self,
        attendant: Attendant,
        which: Callable[[UserRequest], bool] = lambda _request: True,
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
            self._settle(waiting, unanswered(waiting.request, "gone"))

    def observe(self, observer: Callable[[UserRequest, bool], object]) -> Callable[[], None]:
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
            self._settle(waiting, unanswered(waiting.request, "ended"))

    # Requests of the agent

    def ask(self, request: UserRequest, cancel: CancelSignal, timeout_s: float) -> UserAnswer:
        """Wait for the user. Blocking.

        Returns:
            The answer; one without the user when there is no attendant, when the time is over, when
            the turn was stopped, and when the program ends.
        """
        showing = {each for each in self._snapshot() if _guarded(each.serves, request)}
        waiting = _Waiting(request, cancel, set(showing))
        with self._lock:
            waiting.shown_by &= set(self._attendants)  # attendants that have left do not count
            why_not: Reason | None = "ended" if self._closed else None
            if not waiting.shown_by:
                why_not = why_not or "nobody"
            if why_not is None:
                self._waiting[request.id] = waiting
        if why_not is not None:
            return unanswered(request, why_not)
        for each in showing:
            if not _works(each.asked, request):
                self.withdraw(each, lambda one: one.id == request.id)
        self._notify_observers(request, waits=True)
        try:
            with _wait_for_user():
                answer = self._wait(waiting, timeout_s)
        finally:
            with self._lock:
                self._waiting.pop(request.id, None)
            self._notify_observers(request, waits=False)
        for each in self._snapshot():
            _works(each.settled, request, answer)
        return answer

    def _wait(self, waiting: _Waiting, timeout_s: float) -> UserAnswer:
        end = self._clock.monotonic() + timeout_s
        while not waiting.over.wait(_LOOK_S):
            if waiting.cancel.is_set():
                self._settle(waiting, unanswered(waiting.request, "stopped"))
            elif self._clock.monotonic() >= end:
                self._settle(waiting, unanswered(waiting.request, "timeout"))
        assert waiting.answer is not None  # noqa: S101 - set before the event
        return waiting.answer

    def _settle(self, waiting: _Waiting, answer: UserAnswer) -> bool:
        """Set the answer, unless there is one already."""
        with self._lock:
            if waiting.answer is not None:
                return False
            waiting.answer = answer
            waiting.over.set()
            return True

    # Answers of the user

    def pending(
        self, session_key: str | None = None, kind: RequestKind | None = None
    ) -> tuple[UserRequest, ...]:
        """Return the pending requests, oldest first: all, of a chat, or of a kind."""
        with self._lock:
            found = [
                each.request
                for each in self._waiting.values()
                if each.answer is None and not each.cancel.is_set()
            ]
        now = self._moved.now
        return tuple(
            each
            for each in found
            if (session_key is None or now(each.session_key) == now(session_key))
            and kind in {None, each.kind}
        )

    def answer(self, request_id: str, text: str, by: str = "") -> bool:
        """Answer a request; False when it is no longer pending, or the answer is not allowed.

        A request of a stopped turn is no longer pending, even before its thread notices the stop:
        an answer that arrives late must not make the assistant act.

        Args:
            request_id: The request.
            text: For an approval one of its choices. For a question the answer, or the number of a
                choice; blank skips it.
            by: Where the user answered.
        """
        with self._lock:
            waiting = self._waiting.get(request_id)
        if waiting is None:
            return False
        if waiting.cancel.is_set():
            self._settle(waiting, unanswered(waiting.request, "stopped"))
        accepted = _accepted(waiting.request, text)
        return accepted is not None and self._settle(waiting, UserAnswer(accepted, "answered", by))

    def _snapshot(self) -> tuple[Attendant, ...]:
        with self._lock:
            return tuple(self._attendants)

    def _notify_observers(self, request: UserRequest, *, waits: bool) -> None:
        with self._lock:
            found = tuple(self._observers)
        for each in found:
            _works(each, request, waits)

    # Chats

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

    def on_session_end(self, follower: Callable[[str], object]) -> None:
        """Subscribe to the ends of sessions: called with the session id; must not block."""
        with self._lock:
            self._enders.append(follower)

    def end_session(self, session_id: str) -> None:
        """Notify that a session has ended, so that what was allowed in it is no longer valid."""
        with self._lock:
            followers = tuple(self._enders)
        for follower in followers:
            follower(session_id)

    def move(self, old_key: str, new_key: str) -> None:
        """Move a chat's pending and later requests and its approval switch to another key."""
        self._moved.move(old_key, new_key)
        with self._lock:
            if old_key in self._free:
                self._free.discard(old_key)
                self._free.add(new_key)
            followers = tuple(self._followers)
        for follower in followers:
            follower(old_key, new_key)


def new_request_id() -> str:
    """Create an unguessable id for a request."""
    return secrets.token_hex(8)


def _accepted(request: UserRequest, text: str) -> str | None:
    """Return the answer that a text stands for; None: the request does not offer it."""
    if request.kind == "question":
        return chosen(request.choices, text)
    return text if text in request.choices else None


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


def _guarded(call: Callable[..., object], *args: object) -> bool:
    """Return an attendant's reply; one that fails counts as absent."""
    try:
        return bool(call(*args))
    except Exception:
        log.exception("A component that shows requests failed")
        return False


def _works(call: Callable[..., object], *args: object) -> bool:
    """Notify an attendant; return whether that succeeded."""
    try:
        call(*args)
    except Exception:
        log.exception("A component that shows requests failed")
        return False
    return True


# How long a tool call waited for the user, so that its duration leaves that out


@dataclass(slots=True, eq=False)
class WaitMeter:
    """The time that one tool call spent waiting for the user."""

    _total: float = 0.0
    _since: float | None = None

    @property
    def seconds(self) -> float:
        """The total so far, a wait that has not ended included."""
        since = self._since
        return self._total + (time.monotonic() - since if since is not None else 0.0)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Measure one wait."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._total, self._since = self.seconds, None


_METER: ContextVar[WaitMeter | None] = ContextVar("wait_meter", default=None)


@contextlib.contextmanager
def measured_by(meter: WaitMeter) -> Iterator[None]:
    """Measure all waits of this thread by the given meter."""
    token = _METER.set(meter)
    try:
        yield
    finally:
        _METER.reset(token)


def _wait_for_user() -> contextlib.AbstractContextManager[None]:
    """Mark a wait for the user, to be measured if this thread runs a tool call."""
    meter = _METER.get()
    return meter.waiting() if meter is not None else contextlib.nullcontext()
