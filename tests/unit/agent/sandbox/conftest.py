"""Stages whose commands really run in a sandbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.grants import Level
from tests.fakes.tool_stage import KEY, ToolStage

CLOSED = pytest.param(Level.CLOSED, marks=pytest.mark.needs("sandbox"), id="A")
PARTLY_HELD = pytest.param(Level.PARTLY_HELD, marks=pytest.mark.needs("landlock"), id="B")
"""The levels, each with the mark of what it needs: no test that uses a fixture can lack it."""


def stage_at(level: Level, folder: Path) -> Iterator[ToolStage]:
    """Yield a stage whose commands run at a level."""
    stage = ToolStage(folder, level=level)
    if level is Level.PARTLY_HELD:
        stage.queue.set_free(KEY, free=True)  # as after the user's word for the whole session
    yield stage
    stage.close()


@pytest.fixture(params=[CLOSED])
def closed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ToolStage]:
    yield from stage_at(request.param, tmp_path)


@pytest.fixture(params=[CLOSED, PARTLY_HELD])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ToolStage]:
    yield from stage_at(request.param, tmp_path)
