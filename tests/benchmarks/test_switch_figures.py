"""What going from session to session costs, and what it leaves behind.

    HERMES_SWITCHES=10000 pytest tests/benchmarks/test_switch_figures.py --benchmark-only -s \\
        -o faulthandler_timeout=0

Nothing here fails on a slow machine but what must never happen: objects of Qt that pile up.
"""

import asyncio
import gc
import os
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtWidgets import QApplication
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.ui.start.application import DesktopLoop
from hermes_desktop.ui.start.garbage_collection import MainThreadCollector
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.session_switches import history_of, left_over, switch
from tests.fakes.soak_figures import table
from tests.fakes.window_stage import WindowStage

SWITCHES = int(os.environ.get("HERMES_SWITCHES", "10000"))
ROUNDS = 10
A_MESSAGE = 40


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.timeout(7200)
def test_ten_thousand_switches(
    benchmark: BenchmarkFixture, tmp_path: Path, qapp: QApplication
) -> None:
    theme = Theme(qapp, "light")

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: DesktopLoop(qapp)) as runner:
            runner.run(go_round(tmp_path, theme, qapp))

    benchmark.pedantic(run, rounds=1)
    theme.deleteLater()


async def go_round(folder: Path, theme: Theme, app: QApplication) -> None:
    ids = history_of(folder / "home")
    pauses: list[float] = []
    began = 0.0

    def note(phase: str, _: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = time.perf_counter()
        else:
            pauses.append(1000 * (time.perf_counter() - began))

    collector = MainThreadCollector(app, SystemClock())
    rows, left = [], []
    async with WindowStage(folder / "home", theme) as stage:
        await switch(stage, ids, 2 * len(ids))
        gc.callbacks.append(note)
        for number in range(1, ROUNDS + 1):
            start = time.perf_counter()
            await switch(stage, ids, SWITCHES // ROUNDS)
            each = (time.perf_counter() - start) / (SWITCHES // ROUNDS)
            left.append(left_over(stage))
            longest = max(pauses, default=0.0)
            rows.append(
                (
                    str(number * SWITCHES // ROUNDS),
                    f"{1000 * each:.1f}",
                    f"{longest:.1f}",
                    str(left[-1]),
                    str(len(app.allWidgets())),
                    f"{resident_mib():.1f}",
                )
            )
            pauses.clear()
        gc.callbacks.remove(note)
    collector.close()
    heads = ("switches", "ms each", "longest collection ms", "left over", "widgets", "MiB")
    print("\n" + table(heads, rows))
    assert left[-1] <= left[0] + A_MESSAGE
