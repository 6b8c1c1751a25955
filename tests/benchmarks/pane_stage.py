"""The session pane of a window over a large home, for figures about it."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.ui.sessions.session_pane import SessionPane
from hermes_desktop.ui.start.application import DesktopLoop, LoopWatchdog, run_on_loop
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme


@dataclass(frozen=True)
class PaneStage:
    """A pane that shows its first list, over the services of one home."""

    pane: SessionPane
    services: DesktopServices
    database: Path
    first_list_s: float

    async def until(self, condition: Callable[[], bool], within_s: float = 60.0) -> None:
        await _until(condition, within_s)


Measure = Callable[[PaneStage], Awaitable[None]]


def run_on_pane(
    app: QApplication, benchmark: BenchmarkFixture, database: Path, measure: Measure
) -> list[float]:
    """Run a measurement once; the times for which the main thread was held, in seconds."""
    blocks: list[float] = []
    watchdog = LoopWatchdog(report=lambda took, _stack: blocks.append(took))

    async def staged() -> None:
        async with _stage(app, database) as stage:
            await measure(stage)

    benchmark.pedantic(lambda: run_on_loop(staged, DesktopLoop(app, watchdog)), rounds=1)
    watchdog.close()
    return blocks


@contextlib.asynccontextmanager
async def _stage(app: QApplication, database: Path) -> AsyncIterator[PaneStage]:
    theme = Theme(app, "light")
    began = time.perf_counter()
    services = await asyncio.to_thread(
        build_services,
        HermesPaths(database.parent, database.parent),
        redactor=SecretRedactor(),
        offline=True,
        environ={},
    )
    bridge = EventBridge(services.bus)
    slots = AsyncSlots(TaskSet(), services.bus)
    pane = SessionPane(services.catalog, services.search, slots, bridge, theme, SystemClock())
    pane.resize(320, 680)
    pane.show()
    await services.start()
    services.watch.set_visible(True)
    pane.reload()
    await _until(lambda: pane.view.model().session_count > 0)
    shown = time.perf_counter() - began
    await asyncio.sleep(0.5)
    yield PaneStage(pane, services, database, shown)
    pane.close_feeds()
    await services.close(drain_s=0.0)
    pane.close()
    pane.deleteLater()
    bridge.close()
    theme.deleteLater()


async def _until(condition: Callable[[], bool], within_s: float = 60.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.001)
