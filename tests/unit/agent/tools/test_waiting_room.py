"""Waiting for a person while everybody comes, goes and answers at once."""

import random
import threading
import time
from dataclasses import dataclass

import pytest

from hermes_desktop.agent.tools.asking.waiting_room import Attendant, Reason, RequestQueue
from hermes_desktop.core.clock import SystemClock


@dataclass(frozen=True)
class Wish:
    """Something that waits."""

    id: str
    session_key: str = "key"


def room() -> RequestQueue[Wish, str]:
    def unanswered(reason: Reason) -> str:
        return reason

    return RequestQueue(SystemClock(), unanswered)


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

    def _settled(self, wish: Wish, answer: str) -> None:
        with self._lock:
            self.told.setdefault(wish.id, []).append(answer)

    def come_and_go(self, number: int) -> None:
        own = random.Random(f"{self.seed}/{number}")
        while not self.over.is_set():
            shows = Attendant[Wish, str](lambda _wish: own.random() < 0.9, lambda _wish: None)
            leave = self.room.attend(shows)
            time.sleep(own.random() * 0.01)
            leave()

    def answer(self, number: int) -> None:
        own = random.Random(f"{self.seed}/a{number}")
        while not self.over.is_set():
            for wish in self.room.pending():
                if own.random() < 0.5:
                    self.room.settle(wish.id, lambda _wish: f"answer {number}")
            time.sleep(0.001)

    def ask(self, number: int) -> None:
        wish = Wish(f"w{number}")
        self.results[wish.id] = self.room.ask(wish, self.stops[number], 0.5)

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
        thread.join(20)
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
    asker = threading.Thread(target=waiting.ask, args=(Wish("1"), threading.Event(), 60.0))
    asker.start()
    while not waiting.pending():
        time.sleep(0.001)
    assert not waiting.settle("1", lambda _wish: None)
    assert waiting.settle("1", lambda _wish: "yes")
    assert not waiting.settle("1", lambda _wish: "no")
    asker.join(20)
    waiting.close()
    assert waiting.ask(Wish("2"), threading.Event(), 60.0) == "ended"


def test_one_that_cannot_show_it_leaves_it_to_the_others() -> None:
    waiting = room()

    def broken(_wish: Wish) -> None:
        raise RuntimeError("no screen")

    waiting.attend(Attendant(lambda _wish: True, broken))
    assert waiting.ask(Wish("1"), threading.Event(), 60.0) == "gone"

    def shows(wish: Wish) -> None:
        threading.Thread(target=waiting.settle, args=(wish.id, lambda _wish: "yes")).start()

    waiting.attend(Attendant(lambda _wish: True, shows))
    assert waiting.ask(Wish("2"), threading.Event(), 60.0) == "yes"
