"""When the window shows its list, and what memory it takes, as ratios to an empty window of Qt.

Run with ``pytest tests/benchmarks/test_window_figures.py --benchmark-only -s``; the numbers of
sessions with ``HERMES_BENCH_SESSIONS``, for example ``0,2000,54647,200000``.
"""

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.generated_home import generate
from tests.benchmarks.window_probe import SHOWN
from tests.fakes.soak_figures import table

SIZES = [int(each) for each in os.environ.get("HERMES_BENCH_SESSIONS", "0,2000").split(",")]
ROUNDS = 3
QUIET_S = 2.0
"""How long a window must take no processor time before its memory is read."""
MOST_S = 120.0
CHECKOUT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]


@dataclass(frozen=True)
class Start:
    """One start.

    Attributes:
        shown_s: Seconds until the first list is shown.
        cpu_s: Seconds of processor time until then.
        memory_mib: Proportional set size once the process is quiet.
    """

    shown_s: float
    cpu_s: float
    memory_mib: float


def start(folder: Path, *words: str) -> Start:
    """Start a window, wait until it is shown and quiet, and end it."""
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(CHECKOUT),
        "QT_QPA_PLATFORM": "offscreen",
        "HOME": str(folder),
        "HERMES_HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(folder),
        "HERMES_GATEWAY_LOCK_DIR": str(folder / "locks"),
    }
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.window_probe", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
        cwd=CHECKOUT,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().decode().strip() == SHOWN
            shown, cpu = time.perf_counter() - began, _cpu_s(process.pid)
            return Start(shown, cpu, _memory_when_quiet(process.pid))
        finally:
            process.terminate()
            process.communicate(timeout=60)


def _cpu_s(pid: int) -> float:
    facts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")


def _memory_when_quiet(pid: int) -> float:
    deadline = time.monotonic() + MOST_S
    quiet_since, before = time.monotonic(), _cpu_s(pid)
    while time.monotonic() < min(quiet_since + QUIET_S, deadline):
        time.sleep(0.1)
        if (now := _cpu_s(pid)) > before + 0.02:
            quiet_since, before = time.monotonic(), now
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _median(starts: list[Start]) -> Start:
    return Start(
        statistics.median(each.shown_s for each in starts),
        statistics.median(each.cpu_s for each in starts),
        statistics.median(each.memory_mib for each in starts),
    )


def test_window_of_homes_of_all_sizes(
    benchmark: BenchmarkFixture, tmp_path: Path, short_folder: Path
) -> None:
    homes = {size: short_folder / str(size) for size in SIZES}
    for size, folder in homes.items():
        (folder / "home").mkdir(mode=0o700, parents=True)
        if size:
            generate(folder / "home" / "state.db", size)
    rows: list[tuple[str, ...]] = []

    def run() -> None:
        empty = _median([start(tmp_path, "--empty") for _ in range(ROUNDS)])
        rows.append(_row("empty window", empty, empty))
        for size, folder in homes.items():
            found = _median([start(folder) for _ in range(ROUNDS)])
            rows.append(_row(f"{size:,} sessions", found, empty))
            benchmark.extra_info[str(size)] = {
                "shown_ratio": round(found.shown_s / empty.shown_s, 2),
                "memory_mib": round(found.memory_mib, 1),
            }

    benchmark.pedantic(run, rounds=1)
    heads = ("window", "shown s", "ratio (≤ 3.5)", "CPU s", "ratio", "PSS MiB", "ratio")
    print("\n" + table(heads, rows))


def _row(name: str, found: Start, empty: Start) -> tuple[str, ...]:
    return (
        name,
        f"{found.shown_s:.2f}",
        f"{found.shown_s / empty.shown_s:.1f}",
        f"{found.cpu_s:.2f}",
        f"{found.cpu_s / empty.cpu_s:.1f}",
        f"{found.memory_mib:.1f}",
        f"{found.memory_mib / empty.memory_mib:.1f}",
    )
