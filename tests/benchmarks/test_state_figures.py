"""What reading and writing costs in homes of the sizes that people report.

Run with ``pytest tests/benchmarks/test_state_figures.py --benchmark-only -s``. Sizes are taken from
HERMES_BENCH_SESSIONS (2000 and 20000 by default; 54647 is the largest known and makes 0.9 GB, and
200000 shows what grows).
Where the real package has a counterpart, its figure on a copy of the same file stands beside ours
(HERMES_AGENT_PYTHON or .venv-hermes name its interpreter). Nothing here fails on a slow machine.
"""

import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.state import SessionDB
from hermes_desktop.state.facade.activity_index import ActivityIndex
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher

_HERE = Path(__file__).parent
_SIZES = tuple(int(n) for n in os.environ.get("HERMES_BENCH_SESSIONS", "2000,20000").split(","))


@cache
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generated_home", _HERE / "generated_home.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def hermes_python() -> Path:
    """The interpreter of the real package, whether it is there or not."""
    named = os.environ.get("HERMES_AGENT_PYTHON")
    return Path(named) if named else _HERE.parents[1] / ".venv-hermes" / "bin" / "python"


@cache
def theirs(path: Path, long_session: str) -> dict[str, float]:
    """Milliseconds of the real package on a copy of this file, {} without it."""
    python = hermes_python()
    if not python.exists():
        return {}
    home = path.parent / "theirs"
    home.mkdir()
    shutil.copy(path, home / "state.db")  # nobody has it open yet
    done = subprocess.run(
        [str(python), str(_HERE / "time_hermes_agent.py"), str(home / "state.db"), long_session],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "HERMES_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    shutil.rmtree(home)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


@pytest.fixture(scope="module", params=_SIZES)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp(f"home-{request.param}")
    made = generator().generate(folder / "state.db", request.param)
    theirs(made.path, made.long_session)
    yield made
    shutil.rmtree(folder)


@pytest.fixture
def db(home: Any) -> Iterator[SessionDB]:
    store = SessionDB(home.path)
    yield store
    store.close()


@pytest.fixture
def index(db: SessionDB) -> ActivityIndex:
    made = ActivityIndex(db)
    made.rebuild()
    return made


def report(benchmark: BenchmarkFixture, budget_ms: float, other: float | None = None) -> None:
    """Put budget and the real package's figure beside ours."""
    ours = benchmark.stats.stats.median * 1e3
    benchmark.extra_info.update(budget_ms=budget_ms, hermes_agent_ms=other)
    beside = f", hermes-agent {other:.3f} ms" if other is not None else ""
    print(f"\n{benchmark.name}: {ours:.3f} ms of {budget_ms:g} ms{beside}")


def test_list_of_twenty_by_start(benchmark: BenchmarkFixture, home: Any, db: SessionDB) -> None:
    assert len(benchmark(db.list_summaries)) == 20
    report(benchmark, 5, theirs(home.path, home.long_session).get("list by start"))


def test_first_page_from_a_warm_index(
    benchmark: BenchmarkFixture, home: Any, db: SessionDB, index: ActivityIndex
) -> None:
    def page() -> int:
        return len(db.summaries(index.select(limit=50).keys))

    assert benchmark(page) == 50
    report(benchmark, 5, theirs(home.path, home.long_session).get("list by activity"))


def test_a_page_at_depth(
    benchmark: BenchmarkFixture, home: Any, db: SessionDB, index: ActivityIndex
) -> None:
    depth = index.select(limit=0).total - 50

    def page() -> int:
        return len(db.summaries(index.select(limit=50, offset=depth).keys))

    assert benchmark(page) == 50
    report(benchmark, 5, theirs(home.path, home.long_session).get("list at depth"))


def test_the_session_list_as_a_process(benchmark: BenchmarkFixture, home: Any) -> None:
    environ = {"PATH": os.environ["PATH"], "HERMES_HOME": str(home.path.parent), "HOME": "/"}
    environ["PYTHONPATH"] = str(_HERE.parents[1])

    def run(*command: str) -> str:
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, check=True
        ).stdout

    ours = (sys.executable, "-m", "hermes_desktop", "sessions", "list", "--limit", "20")
    assert len(benchmark.pedantic(lambda: run(*ours), rounds=9).splitlines()) == 20
    hermes = hermes_python().parent / "hermes"
    other = None
    if hermes.exists():
        begin = time.perf_counter()
        run(str(hermes), "sessions", "list", "--limit", "20")
        other = (time.perf_counter() - begin) * 1e3
    report(benchmark, 120, other)


def test_index_from_nothing(benchmark: BenchmarkFixture, db: SessionDB) -> None:
    index = ActivityIndex(db)
    benchmark.pedantic(index.rebuild, rounds=3)
    assert len(index) > 0
    report(benchmark, 500)


def test_first_page_without_an_index(benchmark: BenchmarkFixture, db: SessionDB) -> None:
    def page() -> int:
        return len(db.summaries(ActivityIndex(db).first_page(limit=50).keys))

    assert benchmark(page) == 50
    report(benchmark, 100)


def test_list_by_activity_without_an_index(
    benchmark: BenchmarkFixture, home: Any, db: SessionDB
) -> None:
    begin = time.perf_counter()
    assert len(db.list_summaries(order="activity")) == 20
    print(f"\nfirst call: {(time.perf_counter() - begin) * 1e3:.3f} ms")
    assert len(benchmark(db.list_summaries, order="activity")) == 20
    report(benchmark, 20, theirs(home.path, home.long_session).get("list by activity"))


def test_filter_of_the_index(benchmark: BenchmarkFixture, index: ActivityIndex) -> None:
    assert benchmark(index.select, text="kernel 1").total > 0
    report(benchmark, 50)


def test_tail_of_the_long_session(benchmark: BenchmarkFixture, home: Any, db: SessionDB) -> None:
    assert len(benchmark(db.read_messages, home.long_session)) == 60
    report(benchmark, 100, theirs(home.path, home.long_session).get("messages"))


def test_page_before_the_tail(benchmark: BenchmarkFixture, home: Any, db: SessionDB) -> None:
    edge = db.read_messages(home.long_session)[0].id
    assert len(benchmark(db.read_messages, home.long_session, before_id=edge)) == 60
    report(benchmark, 100)


def test_mark_of_the_long_session(benchmark: BenchmarkFixture, home: Any, db: SessionDB) -> None:
    assert benchmark(db.session_mark, home.long_session) is not None
    report(benchmark, 0.2)


def test_first_mark_of_the_long_session(
    benchmark: BenchmarkFixture, home: Any, db: SessionDB
) -> None:
    benchmark.pedantic(
        db.session_mark, (home.long_session,), setup=db._marks.clear, rounds=20, iterations=1
    )
    report(benchmark, 5)


def test_look_when_nothing_happened(benchmark: BenchmarkFixture, home: Any, db: SessionDB) -> None:
    watcher = ChangeWatcher(db.db_path)
    watcher.look()
    assert not benchmark(watcher.look)
    watcher.close()
    report(benchmark, 0.05)


def test_first_look(benchmark: BenchmarkFixture, home: Any) -> None:
    def look() -> None:
        watcher = ChangeWatcher(home.path)
        watcher.look()
        watcher.close()

    benchmark.pedantic(look, rounds=3)
    report(benchmark, 500)


def test_following_a_foreign_message(
    benchmark: BenchmarkFixture, home: Any, db: SessionDB, index: ActivityIndex
) -> None:
    """Look, bring the index up to date, read the line that changed."""
    watcher = ChangeWatcher(home.path)
    watcher.look()
    keys = index.select(limit=50).keys
    watcher.watch([tip for _, tip in keys])
    watcher.look()

    def follow() -> None:
        changes = watcher.look()
        assert keys[5][1] in changes.touched
        index.apply(changes)
        db.summaries([keys[5]])

    benchmark.pedantic(
        follow,
        setup=lambda: db.append_message(keys[5][1], "user", "hello") and None,
        rounds=30,
        iterations=1,
    )
    watcher.close()
    report(benchmark, 5)


def test_append(benchmark: BenchmarkFixture, home: Any, db: SessionDB) -> None:
    benchmark.pedantic(
        db.append_message, (home.long_session, "user", "hello there"), rounds=200, iterations=1
    )
    report(benchmark, 1, theirs(home.path, home.long_session).get("append"))


def test_append_in_turns_with_the_real_package(
    benchmark: BenchmarkFixture, home: Any, tmp_path: Path
) -> None:
    """Blocks of both by turns, each in a file of its own: what else the machine does hits both."""
    pythons = {"ours": Path(sys.executable), "theirs": hermes_python()}
    writers = {
        name: appending(name, python, home, tmp_path / name)
        for name, python in pythons.items()
        if python.exists()
    }
    times: dict[str, list[float]] = {name: [] for name in writers}

    def turn() -> None:
        for name in sorted(writers, reverse=len(times["ours"]) % 2 == 1):
            writer = writers[name]
            assert writer.stdin is not None
            assert writer.stdout is not None
            writer.stdin.write("25\n")
            writer.stdin.flush()
            times[name] += json.loads(writer.stdout.readline())

    benchmark.pedantic(turn, rounds=160)  # a few slow syncs of the disk must not decide
    for writer in writers.values():
        writer.communicate()
    for name, each in times.items():
        rate, median = 1e3 * len(each) / sum(each), statistics.median(each)
        benchmark.extra_info |= {f"{name} a second": rate, f"{name} median ms": median}
        print(f"\nappend: {name} {rate:,.0f} a second, median {median:.3f} ms", end="")


def appending(name: str, python: Path, home: Any, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir()
    shutil.copy(home.path, folder / "state.db")  # nobody has it open
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "HERMES_HOME": str(folder)}
    if name == "ours":
        environ["PYTHONPATH"] = str(_HERE.parents[1])
    program = (str(python), str(_HERE / "time_appends.py"), name)
    writer = subprocess.Popen(
        (*program, str(folder / "state.db"), home.long_session),
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def test_open_and_close(benchmark: BenchmarkFixture, home: Any) -> None:
    benchmark(lambda: SessionDB(home.path).close())
    report(benchmark, 10)
