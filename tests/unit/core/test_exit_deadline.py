"""The deadline of closing: nothing happens in time, everything is told when it is over."""

import logging
import queue
import threading
from collections.abc import Iterator

import pytest

from hermes_desktop.core.processes.exit_deadline import OVERDUE, ExitDeadline


@pytest.fixture
def left() -> "queue.SimpleQueue[int]":
    """The exit codes of processes that would have ended."""
    return queue.SimpleQueue()


@pytest.fixture
def deadline(left: "queue.SimpleQueue[int]") -> Iterator[ExitDeadline]:
    made = ExitDeadline(left.put)
    yield made
    made.disarm()


@pytest.fixture
def hanging_lock() -> Iterator[threading.Lock]:
    """Somebody holds it until the test is over."""
    lock = threading.Lock()
    lock.acquire()
    yield lock
    lock.release()


def test_it_leaves_and_tells_where_everything_stood(
    deadline: ExitDeadline,
    left: "queue.SimpleQueue[int]",
    hanging_lock: threading.Lock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def hangs_here() -> None:
        with hanging_lock:
            pass

    hung = threading.Thread(target=hangs_here, name="a-worker", daemon=True)
    hung.start()
    deadline.arm(0.01)

    assert left.get(timeout=60) == OVERDUE
    assert "Closing took more than 0 s" in caplog.text
    assert "Thread a-worker:" in caplog.text
    assert "hangs_here" in caplog.text
    assert "Thread MainThread:" in caplog.text


def test_a_person_is_told_in_a_sentence(left: "queue.SimpleQueue[int]") -> None:
    told: list[str] = []
    deadline = ExitDeadline(left.put, told.append)
    deadline.arm(0.01)
    assert left.get(timeout=60) == OVERDUE
    deadline.disarm()
    assert len(told) == 1
    assert told[0].endswith("the process ends now. The log shows where it hung.")


def test_disarmed_in_time_nothing_happens(
    deadline: ExitDeadline, left: "queue.SimpleQueue[int]"
) -> None:
    deadline.arm(0.2)
    deadline.disarm()
    with pytest.raises(queue.Empty):
        left.get(timeout=0.5)
    assert "exit-deadline" not in {thread.name for thread in threading.enumerate()}


def test_the_earlier_end_counts(deadline: ExitDeadline, left: "queue.SimpleQueue[int]") -> None:
    deadline.arm(60.0)
    deadline.arm(0.01)
    deadline.arm(60.0)
    assert left.get(timeout=60) == OVERDUE


def test_it_can_be_armed_again(deadline: ExitDeadline, left: "queue.SimpleQueue[int]") -> None:
    deadline.arm(60.0)
    deadline.disarm()
    deadline.arm(0.01)
    assert left.get(timeout=60) == OVERDUE


def test_a_log_that_hangs_does_not_keep_it(
    left: "queue.SimpleQueue[int]", hanging_lock: threading.Lock
) -> None:
    class Stuck(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with hanging_lock:
                pass

    stuck = Stuck()
    logger = logging.getLogger("hermes_desktop.core.processes.exit_deadline")
    logger.addHandler(stuck)
    deadline = ExitDeadline(left.put, logging_s=0.05)
    try:
        deadline.arm(0.01)
        assert left.get(timeout=60) == OVERDUE
    finally:
        deadline.disarm()
        logger.removeHandler(stuck)
