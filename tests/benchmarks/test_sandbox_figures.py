"""What the sandbox holds, what works inside, and what it costs.

Run with ``pytest tests/benchmarks/test_sandbox_figures.py --benchmark-only -s``.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.agent.sandbox.grants import Grant, Level
from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.agent.sandbox.probe import probe
from tests.sandbox.attacks import chosen
from tests.sandbox.everyday import table, tried
from tests.sandbox.known_at_b import KNOWN_AT_B
from tests.sandbox.running import run_at
from tests.sandbox.victim import Victim, name_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]
LEVELS = pytest.mark.parametrize("level", [Level.CLOSED, Level.PARTLY_HELD], ids=["A", "B"])


def need(level: Level) -> None:
    if level.value < probe().level.value:
        pytest.skip(f"this level does not work here: {probe().error}")


def test_what_attacks_do_without_a_sandbox(
    benchmark: BenchmarkFixture, tmp_path: Path, short_folder: Path
) -> None:
    """The control: an attack that does nothing here, such as for want of a program, is inert."""
    victim = Victim(tmp_path, short_folder, None)
    alone = [each for each in chosen() if not each[0].is_beyond]
    try:
        outcome = benchmark.pedantic(victim.run, args=(alone,), rounds=1)
    finally:
        victim.close()
    print(f"\n{outcome.table('No sandbox')}")
    inert = sorted({name_of(attack) for attack, _ in alone} - outcome.harmful)
    print(f"{len(inert)} inert here, and not counted: {', '.join(inert)}")
    assert len(outcome.harmful) >= 500


@LEVELS
def test_every_attack(
    benchmark: BenchmarkFixture, level: Level, tmp_path: Path, short_folder: Path
) -> None:
    """Each as it is, and in one of the disguises, which take turns."""
    need(level)
    victim = Victim(tmp_path, short_folder, level)
    try:
        outcome = benchmark.pedantic(victim.run, args=(chosen(disguised=1),), rounds=1)
    finally:
        victim.close()
    print(f"\n{outcome.table(f'Level {level.value}')}")
    if level is Level.PARTLY_HELD:
        unknown = [each for each in outcome.harm if each[1] not in KNOWN_AT_B]
        assert [each for each in unknown if each[0] != "metadata"] == []
    else:
        assert outcome.harm == []
        assert victim.stage.asked == []


@LEVELS
def test_everyday_commands(benchmark: BenchmarkFixture, level: Level, tmp_path: Path) -> None:
    need(level)
    found = benchmark.pedantic(lambda: list(tried(tmp_path, level)), rounds=1)
    print(f"\n{table(found, f'Level {level.value}')}")
    if level is Level.CLOSED:
        really = [each for each in found if each.result in {"works", "asks", "fails"}]
        assert sum(each.result != "fails" for each in really) >= 0.98 * len(really)


def test_what_a_sandbox_costs(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Floor: the same command without a sandbox, in the same run."""
    user, work = tmp_path / "user", tmp_path / "work"
    homes = Homes(user, user / ".hermes")
    for each in (homes.hermes, work):
        each.mkdir(parents=True)

    def command(level: Level) -> Callable[[], float]:
        def run() -> float:
            began = time.perf_counter()
            ended, _ = run_at(level, ["true"], Grant(work), homes, timeout_s=60)
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


@LEVELS
def test_what_a_run_of_tests_costs(
    benchmark: BenchmarkFixture, level: Level, tmp_path: Path
) -> None:
    """Floor: the same run without a sandbox, in turns with it."""
    need(level)
    user, work = tmp_path / "user", tmp_path / "work"
    homes = Homes(user, user / ".hermes")
    for each in (homes.hermes, work / "tests"):
        each.mkdir(parents=True)
    code = "import unittest, hashlib, pathlib\nclass T(unittest.TestCase):\n" + "".join(
        f"    def test_{number}(self):\n"
        f"        p = pathlib.Path('f{number}')\n        p.write_bytes(b'x' * 99999)\n"
        "        for _ in range(20): hashlib.sha256(p.read_bytes()).digest()\n"
        for number in range(400)
    )
    (work / "tests/test_a.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]

    def run(at: Level) -> float:
        began = time.perf_counter()
        ended, _ = run_at(at, command, grant, homes, timeout_s=600)
        assert ended.code == 0, ended
        return time.perf_counter() - began

    # The interpreter's packages lie in an environment of their own.
    grant = Grant(work, read=frozenset({Path(sys.prefix)}))
    rounds = [(run(Level.NONE), run(level)) for _ in range(7)]
    benchmark.pedantic(run, args=(level,), rounds=1)
    plain, held = (statistics.median(each) for each in zip(*rounds, strict=True))
    more = 100 * (held / plain - 1)
    print(f"\nlevel {level.value}: {held:.2f} s, plain {plain:.2f} s, {more:+.1f} %")
