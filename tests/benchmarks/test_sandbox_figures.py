"""What the sandbox holds, what works inside, and what it costs.

Run with ``pytest tests/benchmarks/test_sandbox_figures.py --benchmark-only -s``.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.agent.sandbox.grants import Grant, Level
from hermes_desktop.agent.sandbox.launching import launch
from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.agent.sandbox.probe import probe
from hermes_desktop.core.processes.child_process import run_bounded
from tests.sandbox.everyday import table, tried
from tests.sandbox.victim import Victim

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]
LEVELS = pytest.mark.parametrize("level", [Level.CLOSED, Level.PARTLY_HELD], ids=["A", "B"])


def need(level: Level) -> None:
    if level.value < probe().level.value:
        pytest.skip(f"this level does not work here: {probe().error}")


@LEVELS
def test_every_attack_in_every_disguise(
    benchmark: BenchmarkFixture, level: Level, tmp_path: Path, short_folder: Path
) -> None:
    need(level)
    victim = Victim(tmp_path, short_folder, level)
    try:
        outcome = benchmark.pedantic(victim.run, rounds=1)
    finally:
        victim.close()
    print(f"\n{outcome.table(f'Level {level.value}')}")
    known = {"metadata"} if level is Level.PARTLY_HELD else set()
    assert [each for each in outcome.harm if each[0] not in known] == []


@LEVELS
def test_everyday_commands(benchmark: BenchmarkFixture, level: Level, tmp_path: Path) -> None:
    need(level)
    found = benchmark.pedantic(lambda: list(tried(tmp_path, level)), rounds=1)
    print(f"\n{table(found, f'Level {level.value}')}")


def test_what_a_sandbox_costs(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Floor: the same command without a sandbox, in the same run."""
    user, work = tmp_path / "user", tmp_path / "work"
    homes = Homes(user, user / ".hermes")
    for each in (homes.hermes, work):
        each.mkdir(parents=True)

    def command(level: Level) -> Callable[[], float]:
        def run() -> float:
            began = time.perf_counter()
            environ = {"PATH": "/usr/bin:/bin"}
            with launch(["true"], Grant(work), level, homes, environ=environ, cwd=work) as started:
                ended = run_bounded(
                    started.argv,
                    environ=started.environ,
                    cwd=work,
                    timeout_s=60,
                    most_bytes=1000,
                    descriptors=started.descriptors,
                )
            assert ended.code == 0
            return (time.perf_counter() - began) * 1000

        return run

    levels = [each for each in Level if each.value >= probe().level.value]
    rounds = {each: [command(each)() for _ in range(60)] for each in levels}
    benchmark.pedantic(command(levels[0]), rounds=5)
    plain = statistics.median(rounds[Level.NONE])
    for each, seconds in rounds.items():
        middle = statistics.median(seconds)
        print(f"\nlevel {each.value}: {middle:.1f} ms, {middle - plain:+.1f} ms over plain")
