"""What the programs cost while nothing happens. Run with ``pytest tests/benchmarks -s``.

Budgets of the architecture: hidden at most 0.2 % of a core, visible 0.5 %, 120 MiB resident, the
gateway loaded. The identity process, which is there besides, is measured by itself.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.gateway.runtime_files.identity_files import read_json
from tests.fakes.program import Program
from tests.fakes.soak_figures import table
from tests.support.waiting import wait_until

SECONDS = float(os.environ.get("HERMES_IDLE_SECONDS", "60"))
SETTLE_S = 30.0
CPU_BUDGET = {"gateway run": 0.2, "hidden": 0.2, "visible": 0.5}
MEMORY_BUDGET_MIB = 120.0
WORDS = {"gateway run": ("gateway", "run"), "hidden": ("--hidden",), "visible": ()}


@dataclass(frozen=True)
class Look:
    """A process at one moment."""

    ticks: int
    woken: int
    rss_mib: float

    @classmethod
    def at(cls, pid: int) -> "Look":
        here = Path(f"/proc/{pid}")
        facts = (here / "stat").read_text().rpartition(")")[2].split()
        status = [each / "status" for each in (here / "task").iterdir()]
        lines = [line for each in status for line in each.read_text().splitlines()]
        woken = sum(int(line.split()[1]) for line in lines if line.startswith("voluntary"))
        pages = int((here / "statm").read_text().split()[1])
        rss = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        return cls(int(facts[11]) + int(facts[12]), woken, rss)


@pytest.fixture
def program(tmp_path: Path, short_folder: Path) -> Program:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    home.joinpath("config.yaml").write_text(
        "model: {default: fake-model, base_url: 'http://127.0.0.1:9/v1'}\n", encoding="utf-8"
    )
    surroundings = {
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_RUNTIME_DIR": str(short_folder),
        "HERMES_GATEWAY_LOCK_DIR": str(tmp_path / "locks"),
        "PYTHONWARNINGS": "default",
    }
    return Program(home, surroundings)


def measured(pid: int, seconds: float) -> tuple[float, float, float]:
    """Percent of a core, wake-ups a second, MiB."""
    first, began = Look.at(pid), time.monotonic()
    time.sleep(seconds)
    last, took = Look.at(pid), time.monotonic() - began
    ticks = (last.ticks - first.ticks) / os.sysconf("SC_CLK_TCK")
    return 100 * ticks / took, (last.woken - first.woken) / took, last.rss_mib


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", WORDS)
def test_idle(benchmark: BenchmarkFixture, program: Program, kind: str) -> None:
    def run() -> None:
        process = program.start(*WORDS[kind])
        try:
            state = program.home / "gateway_state.json"
            wait_until(lambda: (read_json(state) or {}).get("gateway_state") == "running")
            time.sleep(SETTLE_S)
            identity = int(read_json(program.home / "gateway.pid")["pid"])
            rows = []
            for name, pid in ((kind, process.pid), ("identity process", identity)):
                cpu, woken, rss = measured(pid, SECONDS)
                rows.append((name, f"{cpu:.2f}", f"{woken:.1f}", f"{rss:.1f}"))
                benchmark.extra_info[name] = {"cpu": cpu, "woken": woken, "rss_mib": rss}
            rows.append(("budget", f"{CPU_BUDGET[kind]:.2f}", "", f"{MEMORY_BUDGET_MIB:.1f}"))
            print("\n" + table(("idle", "CPU %", "wake-ups/s", "MiB"), rows))
        finally:
            process.terminate()
            process.communicate(timeout=40)

    benchmark.pedantic(run, rounds=1)
