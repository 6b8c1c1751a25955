"""Stages whose commands really run in a sandbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.sandbox.landlock import landlock_version
from hermes_desktop.agent.sandbox.probe import probe
from tests.fakes.tool_stage import KEY, ToolStage


def stage_at(request: pytest.FixtureRequest, level: Level, folder: Path) -> Iterator[ToolStage]:
    """Yield a stage whose commands run at a level; skip where the system refuses that level.

    A test that uses one carries the mark ``needs``: without it, CI would never run the test where
    the sandbox works.
    """
    assert request.node.get_closest_marker("needs"), "mark this test with `needs`"
    if level is Level.CLOSED and probe().level is not Level.CLOSED:
        pytest.skip(f"needs bubblewrap and namespaces: {probe().error}")
    if level is Level.PARTLY_HELD and not landlock_version():
        pytest.skip("needs a kernel with Landlock")
    stage = ToolStage(folder, level=level)
    if level is Level.PARTLY_HELD:
        stage.queue.set_free(KEY, free=True)  # as after the user's word for the whole session
    yield stage
    stage.close()


@pytest.fixture
def closed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ToolStage]:
    yield from stage_at(request, Level.CLOSED, tmp_path)


@pytest.fixture(params=[Level.CLOSED, Level.PARTLY_HELD], ids=["A", "B"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ToolStage]:
    yield from stage_at(request, request.param, tmp_path)
