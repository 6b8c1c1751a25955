"""Objects of Qt die on the main thread, whoever let go of them last and whoever allocates."""

import asyncio
import gc
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.ui.start.application import ApplicationFilter
from hermes_desktop.ui.start.garbage_collection import (
    APART_S,
    FAST_MS,
    FEW_OBJECTS,
    QUIET_S,
    SLOW_MS,
    MainThreadCollector,
    no_automatic_collection,
)
from hermes_desktop.ui.transcript.parsing import BackgroundCalls
from hermes_desktop.ui.widgets.async_slots import MainThreadCalls
from tests.fakes.clock import MovableClock
from tests.support.waiting import until

BOUND_S = 60.0


class Deaths:
    """On which threads objects of Qt died."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def tracked(self) -> QObject:
        threads = self.threads

        class Tracked(QObject):
            def __del__(self) -> None:
                threads.append(threading.current_thread().name)

        return Tracked()

    def in_cycles(self, count: int) -> None:
        for _ in range(count):
            made = self.tracked()
            made.itself = made


@pytest.fixture
def deaths() -> Iterator[Deaths]:
    made = Deaths()
    yield made
    gc.collect()


@pytest.fixture
def workers() -> Iterator[WorkerThreads]:
    made = WorkerThreads("test-worker")
    yield made
    made.close()


@pytest.fixture
def collections() -> Iterator[list[tuple[str, int]]]:
    """Where each collection ran, and of which generation."""
    seen: list[tuple[str, int]] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            seen.append((threading.current_thread().name, info["generation"]))

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)


@pytest.fixture
def python_collects() -> Iterator[None]:
    """As in a fresh process. Nothing of Qt may wait for the collector before or after."""
    gc.collect()
    gc.enable()
    yield
    gc.disable()


@pytest.fixture
def collector(qapp: QApplication) -> Iterator[tuple[MainThreadCollector, MovableClock]]:
    clock = MovableClock()
    made = MainThreadCollector(qapp, clock)
    yield made, clock
    made.close()


def allocate(count: int) -> int:
    """Garbage in cycles, and much that stays for the moment."""
    kept = []
    for _ in range(count):
        loop: list[Any] = [[]]
        loop.append(loop)
        kept.append({"a": []})
    return len(kept)


# ------------------------------------------------------------------------------------- collector


@pytest.mark.asyncio
async def test_workers_that_allocate_collect_nothing(
    qapp: QApplication, python_collects: None, deaths: Deaths, collections: list[tuple[str, int]]
) -> None:
    workers = WorkerThreads("test-worker", size=2)
    with no_automatic_collection():
        collector = MainThreadCollector(qapp, SystemClock())
        deaths.in_cycles(50)
        done = await asyncio.gather(*(workers.run(allocate, 60_000) for _ in range(6)))
        assert sum(done) == 360_000
        await until(lambda: len(deaths.threads) == 50)
        collector.close()
    assert gc.isenabled()
    workers.close()
    assert {thread for thread, _ in collections} == {"MainThread"}
    assert set(deaths.threads) == {"MainThread"}


def test_what_was_set_before_is_set_again() -> None:
    assert not gc.isenabled()  # a process with Qt: see tests/conftest.py
    with no_automatic_collection():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_all_is_collected_and_told_once_the_person_pauses(
    collector: tuple[MainThreadCollector, MovableClock], deaths: Deaths, caplog: Any
) -> None:
    collects, clock = collector
    caplog.set_level(logging.INFO)
    gc.collect()
    deaths.in_cycles(3)
    kept = [[] for _ in range(FEW_OBJECTS)]
    clock.advance(APART_S)
    collects.note_activity()
    collects.look()
    assert not deaths.threads
    clock.advance(QUIET_S)
    collects.look()
    assert len(deaths.threads) == 3
    assert len(kept) == FEW_OBJECTS
    assert "generation 2, the program was idle" in caplog.text


def test_a_hidden_window_is_no_reason_to_wait(
    collector: tuple[MainThreadCollector, MovableClock], deaths: Deaths
) -> None:
    collects, clock = collector
    collects.set_hidden_check(lambda: True)
    gc.collect()
    deaths.in_cycles(FEW_OBJECTS)
    clock.advance(APART_S)
    collects.note_activity()
    collects.look()
    assert len(deaths.threads) == FEW_OBJECTS


def test_looks_become_rare_while_nothing_happens_and_frequent_again(
    collector: tuple[MainThreadCollector, MovableClock],
) -> None:
    collects, _ = collector
    timer = collects.findChild(QTimer)
    gc.collect()
    for _ in range(10):
        collects.look()
    assert timer.interval() == SLOW_MS
    assert timer.timerType() == Qt.TimerType.VeryCoarseTimer
    collects.note_activity()
    assert timer.interval() == FAST_MS
    assert timer.isActive()


def test_it_collects_while_a_menu_is_open(qtbot: Any, qapp: QApplication, deaths: Deaths) -> None:
    clock = MovableClock()
    clock.advance(APART_S)
    collects = MainThreadCollector(qapp, clock)
    collects.set_hidden_check(lambda: True)
    clock.advance(APART_S)
    window = QWidget()
    qtbot.addWidget(window)
    menu = QMenu(window)
    menu.addAction("Something")
    deaths.in_cycles(FEW_OBJECTS)
    QTimer.singleShot(5 * FAST_MS, menu, menu.close)
    menu.exec(QPoint(0, 0))
    collects.close()
    assert len(deaths.threads) == FEW_OBJECTS


def test_what_the_person_does_is_seen(qtbot: Any, qapp: QApplication) -> None:
    events = ApplicationFilter(qapp)
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    with qtbot.waitSignal(events.input_seen, timeout=60_000):
        QTest.keyClick(window, Qt.Key.Key_A)
    with qtbot.waitSignal(events.input_seen, timeout=60_000):
        QTest.mouseMove(window, QPoint(20, 20))
        QTest.mousePress(window, Qt.MouseButton.LeftButton)
    with qtbot.assertNotEmitted(events.input_seen):
        QApplication.sendEvent(window, QEvent(QEvent.Type.UpdateRequest))
    qapp.removeEventFilter(events)
    events.deleteLater()


# ------------------------------------------------------------------------------- last references


class WorkerSlowToForget:
    """Keeps a worker between the end of a call and forgetting it."""

    def __init__(self, workers: WorkerThreads) -> None:
        self._lock = workers._lock  # the worker takes it there

    def after(self, call: Any) -> Any:
        self._lock.acquire()
        return call()

    def forget(self) -> None:
        self._lock.release()


@pytest.mark.asyncio
async def test_a_closure_that_only_the_worker_holds(workers: WorkerThreads, deaths: Deaths) -> None:
    begun, go = threading.Event(), threading.Event()
    widget = deaths.tracked()

    def work(held: QObject = widget) -> bool:
        begun.set()
        return go.wait(BOUND_S)

    workers.submit(work)
    await until(begun.is_set)
    del work, widget
    go.set()
    await until(lambda: deaths.threads)
    assert deaths.threads == ["MainThread"]


@pytest.mark.asyncio
async def test_a_closure_whose_awaiting_task_is_gone(
    workers: WorkerThreads, deaths: Deaths
) -> None:
    begun, go = threading.Event(), threading.Event()

    async def read(widget: QObject) -> None:
        await workers.run(lambda: (begun.set(), go.wait(BOUND_S), widget.objectName()))

    task = asyncio.ensure_future(read(deaths.tracked()))
    await until(begun.is_set)
    task.cancel()
    await asyncio.wait({task})
    del task
    go.set()
    await until(lambda: deaths.threads)
    assert deaths.threads == ["MainThread"]


@pytest.mark.asyncio
async def test_a_closure_that_is_left_behind(workers: WorkerThreads, deaths: Deaths) -> None:
    go = threading.Event()

    async def read(widget: QObject) -> None:
        with pytest.raises(TimeoutError):
            await workers.run_within(0.01, lambda: (go.wait(BOUND_S), widget.objectName()))

    await read(deaths.tracked())
    assert not deaths.threads
    go.set()
    await until(lambda: deaths.threads)
    assert deaths.threads == ["MainThread"]


@pytest.mark.asyncio
async def test_a_result_that_the_main_thread_forgets_first(
    workers: WorkerThreads, deaths: Deaths
) -> None:
    slow = WorkerSlowToForget(workers)
    made = [deaths.tracked()]
    result = workers.submit(slow.after, made.pop)
    await until(result.done)
    del result
    slow.forget()
    await until(lambda: deaths.threads)
    assert deaths.threads == ["MainThread"]


@pytest.mark.asyncio
async def test_a_traceback_that_the_main_thread_forgets_first(
    workers: WorkerThreads, deaths: Deaths
) -> None:
    """What a coroutine awaits has the coroutine's own frames in its traceback when it raises."""
    slow = WorkerSlowToForget(workers)

    def fail() -> None:
        raise ValueError("no")

    async def read(widget: QObject) -> None:
        future = workers.submit(slow.after, fail)
        await until(future.done)
        try:
            future.result()
        except ValueError:
            assert widget.objectName() == ""
        finally:
            del future

    await read(deaths.tracked())
    slow.forget()
    await until(lambda: deaths.threads)
    assert deaths.threads == ["MainThread"]


@pytest.mark.asyncio
async def test_an_exception_leaves_no_cycle(workers: WorkerThreads, deaths: Deaths) -> None:
    async def read(widget: QObject) -> None:
        for call in (workers.run(int, widget), workers.run_within(BOUND_S, lambda: int(widget))):
            with pytest.raises(TypeError):
                await call

    await read(deaths.tracked())
    await until(lambda: deaths.threads)
    assert deaths.threads == ["MainThread"]


def test_a_page_that_is_deleted_while_the_worker_works(
    qtbot: Any, qapp: QApplication, workers: WorkerThreads, deaths: Deaths
) -> None:
    begun, go = threading.Event(), threading.Event()
    calls = BackgroundCalls(workers, MainThreadCalls.of(qapp))

    def start(calls: BackgroundCalls, widget: QObject) -> None:
        calls.run(lambda: (begun.set(), go.wait(BOUND_S)), lambda _: widget.objectName())

    start(calls, deaths.tracked())
    qtbot.waitUntil(begun.is_set, timeout=60_000)
    calls.deleteLater()
    QApplication.sendPostedEvents(calls, QEvent.Type.DeferredDelete)
    del calls
    go.set()
    qtbot.waitUntil(lambda: bool(deaths.threads), timeout=60_000)
    assert deaths.threads == ["MainThread"]
