"""Chats of a gateway that is killed: where they were last said to be, whatever was under way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the gateways are made by fork")
def test_killed_while_it_keeps_chats(tmp_path: Path) -> None:
    """30 rounds, each ended by SIGKILL; the program checks after each."""
    seed = os.urandom(2).hex()
    done = subprocess.run(
        [
            sys.executable,
            str(_HERE / "killed_gateways.py"),
            str(tmp_path),
            "30",
            str(int(seed, 16)),
        ],
        env={**os.environ, "PYTHONPATH": str(_HERE.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    assert done.stdout.startswith("30 rounds")
