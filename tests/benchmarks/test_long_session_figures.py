"""How long others wait while a session of 15,000 messages is deleted, restored or copied.

Run with ``pytest tests/benchmarks/test_long_session_figures.py --benchmark-only -s``. No
transaction may be longer than a second; nothing fails on a slow machine, the figures are printed.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import trash_sessions
from hermes_desktop.state.trash.trash_restore import restore_from_trash

MESSAGES = 15_000
PRUNED = 2_000
_WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "kernel", "compiles")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Timed(SessionDB):
    """Notes how long each transaction keeps others from writing, waiting not counted."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.held: list[float] = []

    def _execute_write(self, fn: Callable[[sqlite3.Connection], Any]) -> Any:
        began = 0.0

        def noted(conn: sqlite3.Connection) -> Any:
            nonlocal began
            began = time.perf_counter()
            return fn(conn)

        try:
            return super()._execute_write(noted)
        finally:
            self.held.append(time.perf_counter() - began)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Timed]:
    store = Timed(tmp_path / "state.db")
    yield store
    store.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[DesktopDatabase]:
    store = DesktopDatabase(tmp_path / "desktop" / "desktop.db")
    yield store
    store.close()


@pytest.fixture
def long(db: Timed) -> Timed:
    rng = random.Random(1)
    db.create_session("long", "cli")
    db.replace_messages(
        "long",
        [
            {"role": "user", "content": " ".join(rng.choices(_WORDS, k=rng.randint(20, 150)))}
            for _ in range(MESSAGES)
        ],
    )
    return db


def report(benchmark: BenchmarkFixture, db: Timed) -> None:
    longest, whole = max(db.held) * 1e3, benchmark.stats.stats.max * 1e3
    benchmark.extra_info.update(longest_ms=longest, transactions=len(db.held))
    print(
        f"\n{benchmark.name}: {whole:.0f} ms in {len(db.held)} transactions, "
        f"the longest {longest:.0f} ms of 1000 ms"
    )


def run(benchmark: BenchmarkFixture, db: Timed, work: Callable[[], object]) -> None:
    db.held.clear()
    benchmark.pedantic(work, rounds=1)
    report(benchmark, db)


def trash(db: Timed, own: DesktopDatabase) -> int:
    receipt = trash_sessions(db, own, ["long"], deleted_at=1.0, reason="test")
    return receipt.items[0].trash_id


def test_into_the_trash(benchmark: BenchmarkFixture, long: Timed, own: DesktopDatabase) -> None:
    run(benchmark, long, lambda: trash(long, own))
    assert long.get_session("long") is None


def test_out_of_the_trash(benchmark: BenchmarkFixture, long: Timed, own: DesktopDatabase) -> None:
    number = trash(long, own)
    run(benchmark, long, lambda: restore_from_trash(long, own, [number]))
    assert long.message_count("long") == MESSAGES


def test_for_good(benchmark: BenchmarkFixture, long: Timed) -> None:
    run(benchmark, long, lambda: long.delete_sessions(["long"]))
    assert long.message_count() == 0


def test_branch(benchmark: BenchmarkFixture, long: Timed) -> None:
    run(benchmark, long, lambda: long.create_branch(Branch("long", "copy")))
    assert long.message_count("copy") == MESSAGES


def test_import(benchmark: BenchmarkFixture, db: Timed) -> None:
    messages = [{"role": "user", "content": f"{' '.join(_WORDS * 8)} {n}"} for n in range(10_000)]
    run(benchmark, db, lambda: db.import_sessions([{"id": "a", "messages": messages}]))
    assert db.message_count("a") == 10_000


def test_many_short_ones_into_the_trash(
    benchmark: BenchmarkFixture, db: Timed, own: DesktopDatabase
) -> None:
    names = [f"s{number}" for number in range(PRUNED)]
    for name in names:
        db.create_session(name, "cli")
        db.replace_messages(name, [{"role": "user", "content": f"{name} says {n}"} for n in "abcd"])
        db.end_session(name, "cli_close")
    taking = trash_rows.ended_session
    run(
        benchmark,
        db,
        lambda: trash_sessions(db, own, names, deleted_at=1.0, reason="test", taking=taking),
    )
    print(f"  {benchmark.stats.stats.max / PRUNED * 1e3:.2f} ms a session")
    assert db.message_count() == 0
