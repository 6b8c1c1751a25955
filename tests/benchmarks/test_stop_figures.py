"""From a stop to the end of the turn. Run with ``pytest tests/benchmarks --benchmark-only``.

Budget: 200 ms, whatever the turn does at that moment.
"""

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.fakes.busy_turns import STATES, busy_turn

BUDGET_S = 0.2
ROUNDS = 5


@pytest.mark.parametrize("state", STATES)
def test_from_the_stop_to_the_end(benchmark: BenchmarkFixture, tmp_path: Path, state: str) -> None:
    took: list[float] = []

    def once() -> None:
        folder = tmp_path / str(len(took))
        folder.mkdir()
        with busy_turn(state, folder) as busy:
            assert busy.stop()["interrupted"]
            took.append(busy.stopped_after_s)

    benchmark.pedantic(once, rounds=ROUNDS)
    worst = max(took)
    benchmark.extra_info |= {"worst_ms": round(worst * 1000), "budget_ms": BUDGET_S * 1000}
    print(f"\n{state}: at most {worst * 1000:.0f} ms, {worst / BUDGET_S:.0%} of the budget")
