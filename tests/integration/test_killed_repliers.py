"""A reply arrives once, or says that it may be a duplicate, whenever the gateway is killed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.timeout(400)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the gateways are made by fork")
@pytest.mark.parametrize("kills", [1, 2])
def test_killed_before_every_single_write(tmp_path: Path, kills: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.killed_repliers", str(tmp_path), str(kills)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = re.match(r"(\d+) rounds, (\d+) once, (\d+) perhaps twice", done.stdout)
    assert found, done.stdout
    rounds, once, twice = (int(number) for number in found.groups())
    assert rounds > 15, "the writes were not met"
    assert once > twice > 0
