"""How soon processes of the program are ready, beside an empty Python.

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


def until_first_line(
    *words: str, python: str = sys.executable, extra: dict[str, str] | None = None
) -> float:
    """Seconds from the start of a process to the first line it writes."""
    began = time.perf_counter()
    with subprocess.Popen(
        [python, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**ENVIRON, **(extra or {})},
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


def until_answer(
    *words: str, python: str = sys.executable, extra: dict[str, str]
) -> tuple[float, float]:
    """Seconds from the start of a front end's process to its first frame, and to an answer."""
    began = time.perf_counter()
    with subprocess.Popen(
        [python, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**ENVIRON, **extra},
        cwd="/",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "session.list"}\n')
        process.stdin.flush()
        assert process.stdout.readline()
        ready = time.perf_counter() - began
        while b'"id": 1' not in process.stdout.readline():
            pass
        answered = time.perf_counter() - began
        process.communicate(timeout=20)
    return ready, answered


def test_a_front_end_gets_its_first_frame_and_answer(
    benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    """``hermes-desktop rpc``, beside an empty Python and the same of hermes-agent if there."""
    home = {"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path)}
    empty = statistics.median(
        until_first_line("-c", "print(flush=True)", extra=home) for _ in range(ROUNDS)
    )
    ours: list[tuple[float, float]] = []
    benchmark.pedantic(
        lambda: ours.append(until_answer("-m", "hermes_desktop", "rpc", extra=home)),
        rounds=ROUNDS,
    )
    ready, answered = (statistics.median(each) for each in zip(*ours, strict=True))
    print(
        f"\nrpc: first frame after {ready * 1000:.0f} ms, first answer {answered * 1000:.0f} ms,"
        f" an empty Python {empty * 1000:.0f} ms, ratios {ready / empty:.1f}  (≤ 10)"
        f" and {answered / empty:.1f}  (≤ 30)"
    )
    peer = os.environ.get("HERMES_AGENT_PYTHON", "")
    if peer:
        words = ("-m", "tui_gateway.entry")
        theirs = [
            until_answer(*words, python=peer, extra={**home, "PYTHONPATH": ""}) for _ in range(5)
        ]
        their_ready, their_answer = (statistics.median(each) for each in zip(*theirs, strict=True))
        print(
            f"hermes-agent: {their_ready * 1000:.0f} ms and {their_answer * 1000:.0f} ms;"
            f" ours / theirs {ready / their_ready:.2f} and {answered / their_answer:.2f}  (≤ 1)"
        )
        assert ready < their_ready
        assert answered < their_answer
    assert ready / empty < 10
    assert answered / empty < 30
