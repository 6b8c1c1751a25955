"""Going from session to session leaves nothing of Qt behind, not even to the collector."""

import gc
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.ui.start.garbage_collection import MainThreadCollector
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.session_switches import history_of, left_over, switch
from tests.fakes.tracked_objects import tracked_count
from tests.fakes.window_stage import WindowStage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ROUND = 100
A_MESSAGE = 40
"""Objects of Qt that one message consists of, about: what may just be on its way out."""


@pytest.mark.asyncio
async def test_switches_leave_nothing_to_the_collector(tmp_path: Path, theme: Theme) -> None:
    ids = history_of(tmp_path / "home")
    async with WindowStage(tmp_path / "home", theme) as stage:
        await switch(stage, ids, 2 * len(ids))
        gc.collect()
        before = left_over(stage)
        await switch(stage, ids, 6 * len(ids))
        assert not gc.isenabled()  # so that whatever was left is still there
        # What the last switch took away is deleted step by step.
        await stage.until(lambda: left_over(stage) <= before + 2 * A_MESSAGE)


@pytest.mark.asyncio
async def test_three_hundred_switches_pile_up_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, theme: Theme, qapp: QApplication
) -> None:
    ids = history_of(tmp_path / "home")
    collector = MainThreadCollector(qapp, SystemClock())
    request.addfinalizer(collector.close)
    async with WindowStage(tmp_path / "home", theme) as stage:
        await switch(stage, ids, ROUND)
        gc.collect()
        widgets, objects = len(qapp.allWidgets()), tracked_count()
        left = left_over(stage)
        await switch(stage, ids, 2 * ROUND)
        await stage.until(lambda: gc.collect() >= 0 and left_over(stage) <= left + A_MESSAGE)
        assert len(qapp.allWidgets()) <= widgets + A_MESSAGE
        # SQLite remembers up to 200 cursors, and the loop a timer for each wait of this test.
        assert tracked_count() <= objects + 8 * (2 * ROUND)
