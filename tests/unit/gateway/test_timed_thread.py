"""Calls one after the other, now or later; and how often a dead process is replaced."""

import logging
import threading

import pytest

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.concurrency.timed_thread import TimedThread
from hermes_desktop.gateway.identity.identity_supervisor import Respawns


def test_calls_run_in_order_and_a_mistake_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    thread = TimedThread("test-timed", SystemClock())
    seen: list[str] = []

    def plan() -> None:
        thread.later(0.03, late)
        thread.later(0.01, forgotten)
        thread.forget(forgotten)

    def late() -> None:
        seen.append("late")
        done.set()

    def forgotten() -> None:
        seen.append("never")

    done = threading.Event()
    thread.post(plan)
    thread.post(lambda: seen.append(str(1 // 0)))
    thread.post(lambda: seen.append("next"))
    with caplog.at_level(logging.ERROR):
        thread.start()
        assert done.wait(60)
    thread.close(timeout=60)

    assert seen == ["next", "late"]
    assert "ZeroDivisionError" in caplog.text
    assert not thread.is_alive


def test_replacing_slows_down_and_gives_up() -> None:
    respawns = Respawns()

    assert [respawns.next_pause(float(n)) for n in range(6)] == [0.3, 0.6, 1.2, 2.4, 4.8, None]
    assert respawns.next_pause(200.0) == 0.3
