"""The loop on Qt: timers never early, slow callbacks reported with their stack, quit as a wish."""

import asyncio
import time

import pytest
from PySide6.QtCore import QCoreApplication, QEvent

from hermes_desktop.ui.start.application import ApplicationFilter, DesktopLoop, LoopWatchdog


@pytest.mark.asyncio
async def test_sleep_is_never_shorter_than_asked() -> None:
    assert isinstance(asyncio.get_running_loop(), DesktopLoop)
    for delay in (0.02, 0.1, 0.4):
        before = time.monotonic()
        await asyncio.sleep(delay)
        assert time.monotonic() - before > delay - 0.0015


def test_watchdog_names_what_held_the_loop(qapp) -> None:
    reports: list[tuple[float, str]] = []
    watchdog = LoopWatchdog(limit_s=0.02, report=lambda took, stack: reports.append((took, stack)))
    loop = DesktopLoop(qapp, watchdog)

    def held_up_here() -> None:
        until = time.monotonic() + 0.12
        while time.monotonic() < until:
            pass

    async def work() -> None:
        await asyncio.sleep(0.03)
        held_up_here()
        await asyncio.sleep(0.03)

    loop.run_until_complete(work())
    loop.close()
    watchdog.close()
    slow = [(took, stack) for took, stack in reports if took >= 0.1]
    assert slow
    assert "held_up_here" in slow[0][1]


@pytest.mark.asyncio
async def test_quit_event_becomes_a_request(qapp, qtbot) -> None:
    events = ApplicationFilter(qapp)
    with qtbot.waitSignal(events.quit_requested, timeout=60_000):
        QCoreApplication.postEvent(qapp, QEvent(QEvent.Type.Quit))
        await asyncio.sleep(0.05)
    qapp.removeEventFilter(events)
    events.deleteLater()
