"""What every test of the window needs: a loop on Qt, and proof that nothing is left behind.

Asynchronous tests carry ``@pytest.mark.asyncio`` and run on the program's own loop.
"""

import gc
import os
import threading
import time
from collections.abc import Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.ui.start.application import DesktopLoop
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.tracked_objects import tracked_of


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item):
    def on_qt() -> DesktopLoop:
        return DesktopLoop(QApplication.instance())

    return {"qt": on_qt}


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    return ["hermes-desktop-tests"]


@pytest.fixture(autouse=True)
def _nothing_left_behind(qapp: QApplication) -> Iterator[None]:
    """Fail a test that leaves threads, visible windows or running timers.

    Stands before every other fixture, so that it looks after all of them are gone.
    """
    qapp.setQuitOnLastWindowClosed(False)
    threads = set(threading.enumerate())
    timers = {id(timer) for timer in _active_timers()}
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    windows = [repr(widget) for widget in qapp.topLevelWidgets() if widget.isVisible()]
    assert not windows, f"windows still shown: {windows}"
    left = [timer for timer in _active_timers() if id(timer) not in timers]
    assert not left, f"timers still running: {[(t.parent(), t.interval()) for t in left]}"
    ours = {t for t in threading.enumerate() if not isinstance(t, threading._DummyThread)}
    _assert_ended(ours - threads)  # a thread of Qt's that once called Python is no thread of ours


def _assert_ended(threads: set[threading.Thread]) -> None:
    deadline = time.monotonic() + 2.0
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    alive = [thread.name for thread in threads if thread.is_alive()]
    assert not alive, f"threads still running: {alive}"


def _active_timers() -> list[QTimer]:
    return [timer for timer in tracked_of(QTimer) if isValid(timer) and timer.isActive()]


@pytest.fixture
def bus() -> EventBus:
    return EventBus()


@pytest.fixture
def tasks() -> TaskSet:
    return TaskSet()


@pytest.fixture
def slots(tasks: TaskSet, bus: EventBus) -> AsyncSlots:
    return AsyncSlots(tasks, bus)


@pytest.fixture
def bridge(qapp: QApplication, bus: EventBus) -> Iterator[EventBridge]:
    bridge = EventBridge(bus)
    yield bridge
    bridge.close()


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    """The light theme, whatever the desktop says; gone again after the test."""
    theme = Theme(qapp, "light")
    yield theme
    theme.deleteLater()
    qapp.setPalette(QPalette())  # else the next theme takes our accent for the system's
