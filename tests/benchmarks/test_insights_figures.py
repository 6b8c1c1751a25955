"""What counting the last days costs, as a whole command, beside the real package.

Run with ``pytest tests/benchmarks/test_insights_figures.py --benchmark-only -s``. The size comes
from HERMES_BENCH_SESSIONS (2000 by default; 54647 is the largest known). HERMES_AGENT_PYTHON names
the real package's interpreter; without it only our figure is printed. Nothing here fails on a slow
machine.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.generated_home import generate

_SIZE = int(os.environ.get("HERMES_BENCH_SESSIONS", "2000").split(",")[-1])
_ROUNDS = 3


def _seconds(command: list[str], home: Path) -> float:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "HERMES_HOME": str(home)}
    took = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        subprocess.run(command, env=environ, check=True, capture_output=True, timeout=600)
        took.append(time.perf_counter() - began)
    return sorted(took)[_ROUNDS // 2]


@pytest.mark.parametrize("days", [30, 3650])
def test_counting_the_last_days(benchmark: BenchmarkFixture, tmp_path: Path, days: int) -> None:
    home = tmp_path / "user" / ".hermes"
    home.mkdir(parents=True)
    generate(home / "state.db", _SIZE)
    arguments = ["insights", "--days", str(days)]
    ours = benchmark.pedantic(
        lambda: _seconds([sys.executable, "-m", "hermes_desktop", *arguments], home), rounds=1
    )
    line = f"\n{_SIZE} sessions, {days} days: {ours:.2f} s"
    named = os.environ.get("HERMES_AGENT_PYTHON")
    if named:
        theirs = _seconds([str(Path(named).parent / "hermes"), *arguments], home)
        line += f", hermes {theirs:.2f} s ({theirs / ours:.1f} times)"
    print(line)
