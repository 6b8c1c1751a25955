"""Many rounds of writers that are killed; too long for every run.

Run with ``pytest tests/benchmarks/test_killed_writers.py --benchmark-only -s``.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

_CHECKOUT = Path(__file__).parents[2]


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(
    ("name", "count"), [("killed_writers.py", 1_000), ("killed_long_work.py", 300)]
)
def test_many_kills(benchmark: BenchmarkFixture, tmp_path: Path, name: str, count: int) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    program = _CHECKOUT / "tests" / "integration" / name

    def rounds() -> str:
        done = subprocess.run(
            [sys.executable, str(program), str(tmp_path), str(count), str(seed)],
            env={**os.environ, "PYTHONPATH": str(_CHECKOUT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"seed {seed}: {done.stderr}"
        return done.stdout

    print(f"\n{benchmark.pedantic(rounds, rounds=1, iterations=1).strip()}, nothing lost")
