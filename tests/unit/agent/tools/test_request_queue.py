"""Waiting for a person while everybody comes, goes and answers at once."""

import random
import threading
import time

import pytest

from hermes_desktop.agent.tools.asking.request_queue import Attendant, RequestQueue
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.user_requests import UserAnswer, UserRequest
from tests.fakes.user_requests import approval_request, question_request


def wish(request_id: str) -> UserRequest:
    """Something that waits."""
    return question_request(request_id, "key", "s", "", "desktop", "?", (), 0.0, 60.0)


def outcome(answer: UserAnswer) -> str:
    return answer.text or answer.reason


def room() -> RequestQueue:
    return RequestQueue(SystemClock())


class Crowd:
    """Sixty that wait, four who come and go, two who answer, and one who hears of every end."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.room = room()
        self.results: dict[str, str] = {}
        self.told: dict[str, list[str]] = {}
        self.over = threading.Event()
        self.stops = {number: threading.Event() for number in range(60)}
        self._lock = threading.Lock()
        self.room.attend(Attendant(lambda _wish: False, lambda _wish: None, self._settled))

    def _settled(self, wish: UserRequest, answer: UserAnswer) -> None:
        with self._lock:
            self.told.setdefault(wish.id, []).append(outcome(answer))

    def come_and_go(self, number: int) -> None:
        own = random.Random(f"{self.seed}/{number}")
        while not self.over.is_set():
            shows = Attendant(lambda _wish: own.random() < 0.9, lambda _wish: None)
            leave = self.room.attend(shows)
            time.sleep(own.random() * 0.01)
            leave()

    def answer(self, number: int) -> None:
        own = random.Random(f"{self.seed}/a{number}")
        while not self.over.is_set():
            for wish in self.room.pending():
                if own.random() < 0.5:
                    self.room.answer(wish.id, f"answer {number}")
            time.sleep(0.001)

    def ask(self, number: int) -> None:
        asked = wish(f"w{number}")
        self.results[asked.id] = outcome(self.room.ask(asked, self.stops[number], 0.5))

    def run(self) -> None:
        chance = random.Random(self.seed)
        others = [threading.Thread(target=self.come_and_go, args=(n,)) for n in range(4)]
        others += [threading.Thread(target=self.answer, args=(n,)) for n in range(2)]
        askers = [threading.Thread(target=self.ask, args=(n,)) for n in range(60)]
        for thread in [*others, *askers]:
            thread.start()
            if chance.random() < 0.2:
                self.stops[chance.randrange(60)].set()
        ended_by(askers[:30])
        self.room.close()
        ended_by(askers)
        self.over.set()
        ended_by(others)


def ended_by(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.parametrize("seed", range(4))
def test_every_wait_ends_once_whoever_comes_and_goes(seed: int) -> None:
    crowd = Crowd(seed)
    crowd.run()
    assert len(crowd.results) == 60
    assert crowd.room.pending() == ()
    known = {"timeout", "stopped", "nobody", "gone", "ended", "answer 0", "answer 1"}
    assert set(crowd.results.values()) <= known
    for name, answers in crowd.told.items():
        assert answers == [crowd.results[name]]


def test_a_late_answer_is_refused_and_a_closed_room_asks_nobody() -> None:
    waiting = room()
    waiting.attend(Attendant(lambda _wish: True, lambda _wish: None))
    asked = approval_request(
        "1", "key", "s", "", "desktop", "terminal", "rm", "/", (), ("once", "deny"), 0.0, 60.0
    )
    asker = threading.Thread(target=waiting.ask, args=(asked, threading.Event(), 60.0))
    asker.start()
    while not waiting.pending():
        time.sleep(0.001)
    assert not waiting.answer("1", "always")
    assert waiting.answer("1", "once")
    assert not waiting.answer("1", "deny")
    asker.join(60)
    waiting.close()
    assert waiting.ask(wish("2"), threading.Event(), 60.0).reason == "ended"


def test_one_that_cannot_show_it_leaves_it_to_the_others() -> None:
    waiting = room()

    def broken(_wish: UserRequest) -> None:
        raise RuntimeError("no screen")

    waiting.attend(Attendant(lambda _wish: True, broken))
    assert waiting.ask(wish("1"), threading.Event(), 60.0).reason == "gone"

    def shows(wish: UserRequest) -> None:
        threading.Thread(target=waiting.answer, args=(wish.id, "yes")).start()

    waiting.attend(Attendant(lambda _wish: True, shows))
    assert waiting.ask(wish("2"), threading.Event(), 60.0).text == "yes"
