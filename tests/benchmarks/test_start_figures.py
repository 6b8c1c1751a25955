"""How soon the identity process of a frozen program holds a home, beside an empty Python.

Run with ``pytest tests/benchmarks/test_start_figures.py --benchmark-only -s``.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.slow
CHECKOUT = Path(__file__).parents[2]
ENVIRON = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT)}
ROUNDS = 15


def until_first_line(*words: str) -> float:
    """Seconds from the start of a process to the first line it writes."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRON,
        cwd="/",
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        took = time.perf_counter() - began
        process.communicate(timeout=20)  # closes its input: both end by that
    return took


def test_the_entry_point_of_the_identity_process(
    benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    bare = ("-c", "print(flush=True)")
    ours = (
        "-m", "hermes_desktop", "hermes-gateway", "--external-supervisor",
        f"HERMES_HOME={tmp_path}", "--parent", str(os.getpid()),
    )  # fmt: skip
    empty = statistics.median(until_first_line(*bare) for _ in range(ROUNDS))
    held: list[float] = []
    benchmark.pedantic(lambda: held.append(until_first_line(*ours)), rounds=ROUNDS)
    took = statistics.median(held)
    print(
        f"\nidentity process by the program's entry: held after {took * 1000:.0f} ms,"
        f" an empty Python {empty * 1000:.0f} ms, ratio {took / empty:.1f}  (≤ 6)"
    )
    assert took / empty < 6
