"""1,000 rounds of writers that are killed; too long for every run.

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
_ROUNDS = 1_000


@pytest.mark.timeout(1_800)
def test_a_thousand_kills(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    program = _CHECKOUT / "tests" / "integration" / "killed_writers.py"

    def rounds() -> str:
        done = subprocess.run(
            [sys.executable, str(program), str(tmp_path), str(_ROUNDS), str(seed)],
            env={**os.environ, "PYTHONPATH": str(_CHECKOUT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"seed {seed}: {done.stderr}"
        return done.stdout

    print(f"\n{benchmark.pedantic(rounds, rounds=1, iterations=1).strip()}, nothing lost")
