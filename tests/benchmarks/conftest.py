"""Fixtures of several figures; the window is loaded only by those that are about it."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture


@pytest.fixture
def on_pane(
    request: pytest.FixtureRequest, benchmark: BenchmarkFixture
) -> Callable[..., list[float]]:
    """Runs a measurement on the session pane over a database; see ``pane_stage.run_on_pane``."""
    from tests.benchmarks.pane_stage import run_on_pane

    app: Any = request.getfixturevalue("qapp")
    return functools.partial(run_on_pane, app, benchmark)
