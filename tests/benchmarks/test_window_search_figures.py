"""Typing into the search field of a large home: from the last key to the first hits, and to all.

Run with ``pytest tests/benchmarks/test_window_search_figures.py --benchmark-only -s``; the size
with ``HERMES_BENCH_SESSIONS`` (2000, 20000 or 54647). Making the home takes minutes.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.ui.sessions.message_search import PAUSE_MS
from tests.benchmarks.generated_home import RARE_PHRASE, generate
from tests.benchmarks.pane_stage import Measure, PaneStage

SESSIONS = int(os.environ.get("HERMES_BENCH_SESSIONS", "20000").rpartition(",")[2])
TEXTS = {
    "a frequent word": "kitchen",
    "a rare phrase": f'"{RARE_PHRASE}"',
    "a beginning": "ka",
    "two words": "invoice trip",
    "two characters of Chinese": "旅行",
    "nothing": "zzzzzz",
}
ROUNDS = 5

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


class Figures:
    """What was measured, in milliseconds, without the pause."""

    def __init__(self) -> None:
        self.first: dict[str, list[float]] = {}
        self.whole: dict[str, list[float]] = {}
        self.keys: list[float] = []
        self.blocks: list[float] = []

    def print(self) -> None:
        print(f"\nmessages of {SESSIONS:,} sessions, after the pause of {PAUSE_MS} ms")
        print(f"  {'':32} first hits shown        all of a page")
        for name, first in self.first.items():
            whole = self.whole[name]
            print(
                f"  {name:32}{statistics.median(first):6.0f} ms, worst {max(first):4.0f}"
                f"{statistics.median(whole):9.0f} ms, worst {max(whole):4.0f}"
            )
        median, late = statistics.median(self.keys), statistics.quantiles(self.keys, n=20)[-1]
        print(f"  key press handled in {median:.1f} ms, p95 {late:.1f} ms  (≤ 16)")
        longest = max(self.blocks, default=0.0) * 1000
        print(f"  main thread held over 50 ms {len(self.blocks)} times, longest {longest:.0f} ms")


def test_search_in_a_large_home(
    on_pane: Callable[[Path, Measure], list[float]], benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    figures = Figures()

    async def measure(stage: PaneStage) -> None:
        for best in (False, True):
            stage.pane.hits.best.setChecked(best)
            for name, text in TEXTS.items():
                await _search(stage, f"{name}, best match" if best else name, text, figures)

    home = generate(tmp_path / "state.db", SESSIONS, full_text=True)
    figures.blocks = on_pane(home.path, measure)
    benchmark.extra_info.update(
        {name: round(statistics.median(first)) for name, first in figures.first.items()}
    )
    figures.print()


async def _search(stage: PaneStage, name: str, text: str, figures: Figures) -> None:
    pane = stage.pane
    for _ in range(ROUNDS):
        pane.clear_filter()
        await asyncio.sleep(0.1)
        for letter in text:
            began = time.perf_counter()
            if letter.isascii():
                QTest.keyClicks(pane._filter, letter)
            else:
                pane._filter.insert(letter)
            figures.keys.append((time.perf_counter() - began) * 1000)
        pressed = time.perf_counter()
        await stage.until(lambda: pane.hits.state != "searching")
        figures.first.setdefault(name, []).append(_since(pressed))
        await stage.until(lambda: pane.hits.over)
        figures.whole.setdefault(name, []).append(_since(pressed))


def _since(pressed: float) -> float:
    return (time.perf_counter() - pressed) * 1000 - PAUSE_MS
