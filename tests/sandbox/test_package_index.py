"""``pip`` installs through a granted host, and reaches no other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.package_index import HOST

pytestmark = [pytest.mark.needs("sandbox", "unshare"), pytest.mark.slow]
CHECKOUT = Path(__file__).parents[2]


def test_pip_installs_from_a_granted_host_only(tmp_path: Path) -> None:
    apart = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    ended = subprocess.run(
        [*apart, sys.executable, "-m", "tests.sandbox.package_index", str(tmp_path)],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert ended.returncode == 0, ended.stderr
    refused, granted = json.loads(ended.stdout)

    assert granted["code"] == 0, granted["output"]
    assert granted["installed"]
    assert granted["denied"] == []
    assert refused["code"] != 0
    assert not refused["installed"]
    assert refused["denied"] == [HOST]
