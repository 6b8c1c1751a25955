"""What several tests with more than one process need."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

_HERE = Path(__file__).parent


@pytest.fixture
def killed(tmp_path: Path) -> Callable[[str, int], None]:
    """Runs a program whose children are killed, and which checks after each round."""
    if not hasattr(os, "fork"):
        pytest.skip("the children are made by fork")
    seed = os.urandom(2).hex()

    def run(program: str, rounds: int) -> None:
        done = subprocess.run(
            [sys.executable, str(_HERE / program), str(tmp_path), str(rounds), str(int(seed, 16))],
            env={**os.environ, "PYTHONPATH": str(_HERE.parents[1])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"seed {seed}: {done.stderr}"
        assert done.stdout.startswith(f"{rounds} rounds")

    return run
