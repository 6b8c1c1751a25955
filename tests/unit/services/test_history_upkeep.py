"""Old sessions are deleted automatically only where a person has switched that on."""

import asyncio
import contextlib
import itertools
import logging
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.history_upkeep import (
    FIRST_S,
    LOOK_S,
    HistoryMaintenance,
    last_prune,
)
from hermes_desktop.services.settings.history_options import UpkeepSettings
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records import meta_table
from tests.fakes.clock import MovableClock

_DAY = 86_400.0
_ON = "sessions:\n  auto_prune: true\n"


class Stage:
    """A home with an old session, an old one that is open, an old pinned one and a new one."""

    def __init__(self, home: Path) -> None:
        self.paths, self.clock = HermesPaths(home, home), MovableClock()
        self.db = SessionDB(self.paths.state_db, clock=self.clock)
        for name in ("old", "open", "pinned"):
            self.add(name)
        self.db.set_session_pinned("pinned", pinned=True)
        self.db.reopen_session("open")
        self.clock.advance(100 * _DAY)
        self.add("new")
        self.paths.config_yaml.write_text(_ON)
        self.worker = WorkerThreads("state-bulk")
        self.reason = ""
        self.upkeep = self.start()

    def start(self) -> HistoryMaintenance:
        return HistoryMaintenance(
            self.paths,
            self.db,
            self.worker,
            self.clock,
            left_alone=lambda: self.reason,
        )

    def add(self, name: str) -> None:
        self.db.create_session(name, source="cli")
        self.db.append_message(name, role="user", content="hello")
        self.db.end_session(name, "cli_close")

    def pruned_elsewhere(self, at: float) -> None:
        """Note, as another program does, when old sessions were pruned."""
        self.db._execute_write(lambda conn: meta_table.put(conn, "last_auto_prune", str(at)))

    def left(self) -> set[str]:
        return {row["id"] for row in self.db.search_sessions(limit=9999)}

    async def run_for(self, seconds: float) -> None:
        """Let it run while the clock goes on."""
        end = self.clock.time() + seconds

        over = asyncio.Event()

        async def pause(wanted: float) -> None:
            if self.clock.time() + wanted > end:
                over.set()
                await asyncio.get_running_loop().create_future()
            self.clock.advance(wanted)

        self.upkeep.pause = pause
        running = asyncio.ensure_future(self.upkeep.run())
        await over.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.worker.close()
    stage.db.close()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sessions:\n  retention_days: 1\n",
        "sessions:\n  auto_prune: 'true'\n",
        "sessions:\n  auto_prune: 1\n",
        "sessions:\n  auto_prune: true\n  retention_days: 0\n",
        "sessions:\n  auto_prune: true\n  retention_days: soon\n",
        "sessions:\n  auto_prune: true\n  retention_days: .nan\n",
        f"sessions:\n  auto_prune: true\n  retention_days: {10**400}\n",
        f"sessions:\n  auto_prune: true\n  min_interval_hours: {10**400}\n",
        "sessions: true\n",
        "sessions: [\n",
    ],
)
def test_nothing_is_deleted_unless_it_is_set_and_makes_sense(stage: Stage, text: str) -> None:
    stage.paths.config_yaml.write_text(text)
    assert stage.upkeep.do() == {}
    assert stage.left() == {"old", "open", "pinned", "new"}
    assert stage.db.last_auto_prune() == 0


def test_what_nobody_used_for_long_goes_once_in_a_while(stage: Stage) -> None:
    assert stage.upkeep.do()["pruned"] == 1
    assert stage.left() == {"open", "pinned", "new"}
    assert stage.upkeep.do()["skipped"]


@pytest.mark.slow
@pytest.mark.asyncio
async def test_it_is_done_a_minute_after_the_start_and_then_as_often_as_is_set(
    stage: Stage,
) -> None:
    stage.paths.config_yaml.write_text(_ON + "  retention_days: 1\n  min_interval_hours: 48\n")
    begun, done = stage.clock.time(), []
    real = stage.db.maybe_auto_prune_and_vacuum

    def noting(*args: object, **kwargs: object) -> dict[str, object]:
        day = f"s{int((stage.clock.time() - begun) / _DAY)}"
        if stage.db.get_session(day) is None:
            stage.add(day)
        result = real(*args, **kwargs)  # type: ignore[arg-type]
        if not result["skipped"]:
            done.append(stage.clock.time() - begun)
        return result

    stage.db.maybe_auto_prune_and_vacuum = noting  # type: ignore[method-assign]
    await stage.run_for(21 * _DAY)
    assert done[0] == FIRST_S
    gaps = [later - earlier for earlier, later in itertools.pairwise(done)]
    assert len(gaps) == 10
    assert all(2 * _DAY <= gap <= 2 * _DAY + LOOK_S for gap in gaps)
    ages = [stage.clock.time() - row["started_at"] for row in stage.db.search_sessions(limit=9999)
            if row["id"].startswith("s")]  # fmt: skip
    assert len(ages) <= 4
    assert max(ages) <= 4 * _DAY


@pytest.mark.asyncio
async def test_settings_changed_meanwhile_count(stage: Stage) -> None:
    stage.paths.config_yaml.write_text("")
    await stage.run_for(_DAY)
    assert "old" in stage.left()
    stage.paths.config_yaml.write_text(_ON)
    await stage.run_for(2 * LOOK_S)
    assert "old" not in stage.left()


@pytest.mark.asyncio
async def test_another_gateway_is_left_alone(stage: Stage) -> None:
    stage.reason = "another gateway serves this home"
    await stage.run_for(21 * _DAY)
    assert stage.left() == {"old", "open", "pinned", "new"}
    assert stage.db.last_auto_prune() == 0
    stage.reason = ""
    await stage.run_for(LOOK_S)
    assert stage.left() == {"open", "pinned", "new"}


def test_a_home_of_newer_hermes_is_left_to_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Its own gateway is the only writer there, and deletes old sessions by its own rules."""
    with contextlib.closing(sqlite3.connect(stage.paths.state_db)) as conn:
        conn.execute("CREATE TABLE session_admissions (seq INTEGER PRIMARY KEY)")
        conn.execute("CREATE TABLE runtime_epoch (singleton INTEGER PRIMARY KEY)")
        conn.commit()
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            assert stage.upkeep.do() == {}
    assert stage.left() == {"old", "open", "pinned", "new"}
    assert stage.db.last_auto_prune() == 0
    assert caplog.text.count("This history belongs to Hermes' gateway") == 1


@pytest.mark.parametrize("days", [-400.0, 20.0, 400.0, 4000.0])
def test_a_clock_that_jumps_takes_nothing(stage: Stage, days: float) -> None:
    stage.db.delete_sessions(["old"])
    assert stage.upkeep.do()["pruned"] == 0
    stage.add("newer")
    stage.clock.advance(_DAY / 2)
    stage.upkeep.do()
    stage.clock.jump(days * _DAY)
    everything = stage.left()
    for _ in range(100):
        stage.clock.advance(3600)
        assert stage.upkeep.do() == {}
    stage.upkeep = stage.start()  # the program is started anew
    for _ in range(40):
        stage.clock.advance(3600)
        assert stage.upkeep.do() == {}
    assert last_prune(stage.db).believed_at > stage.clock.time()
    stage.clock.jump(-days * _DAY)
    stage.clock.advance(_DAY)
    for _ in range(3):
        stage.clock.advance(_DAY)
        stage.upkeep.do()
    assert stage.left() == everything
    assert stage.db.last_auto_prune() <= stage.clock.time()
    stage.clock.advance(91 * _DAY)
    stage.upkeep.do()
    assert stage.left() == {"open", "pinned"}


def test_a_note_from_the_future_takes_nothing_and_does_not_last(stage: Stage) -> None:
    """Another program pruned while the clock was wrong."""
    stage.pruned_elsewhere(stage.clock.time() + 4000 * _DAY)
    assert stage.upkeep.do()["skipped"]
    assert stage.db.last_auto_prune() == stage.clock.time()
    stage.clock.advance(_DAY + 1)
    assert stage.upkeep.do()["pruned"] == 1


def test_one_of_several_processes_does_it(stage: Stage) -> None:
    """Each has its own connection; the note and the look at it are one transaction."""
    barrier, results = threading.Barrier(4), []

    def one() -> None:
        with contextlib.closing(SessionDB(stage.paths.state_db, clock=stage.clock)) as db:
            barrier.wait()
            results.append(db.maybe_auto_prune_and_vacuum(90, 24, vacuum=False))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each["skipped"] for each in results) == [False, True, True, True]
    assert sum(each["pruned"] for each in results) == 1


def test_what_is_left_when_it_is_stopped_is_due_again(stage: Stage) -> None:
    stop = threading.Event()
    stop.set()
    assert stage.db.maybe_auto_prune_and_vacuum(90, cancel=stop)["pruned"] == 0
    assert stage.db.last_auto_prune() == 0
    assert stage.upkeep.do()["pruned"] == 1


def test_it_says_what_it_took_and_when_it_is_done_next(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    assert (last_prune(stage.db).at, last_prune(stage.db).took) == (0, None)
    with caplog.at_level(logging.INFO):
        stage.upkeep.do()
    (line,) = [each for each in caplog.messages if each.startswith("sessions.auto_prune")]
    assert line.startswith(
        "sessions.auto_prune: deleted 1 sessions unused for 90 days; next: 2026-06-10 "
    )
    found = last_prune(stage.db)
    assert (found.at, found.took, found.error) == (stage.clock.time(), 1, "")
    stage.clock.advance(2 * _DAY)
    stage.pruned_elsewhere(stage.clock.time())
    found = last_prune(stage.db)
    assert (found.at, found.took) == (stage.clock.time(), None)


def test_a_failure_is_noted(stage: Stage) -> None:
    write, calls = stage.db._execute_write, itertools.count()

    def fail(work: Any) -> Any:
        if next(calls) == 1:  # the first one claims the work
            raise OSError("the disk is full")
        return write(work)

    stage.db._execute_write = fail  # type: ignore[method-assign]
    assert stage.upkeep.do()["error"] == "the disk is full"
    assert last_prune(stage.db).error == "the disk is full"
    assert stage.upkeep.do()["skipped"]


def test_what_is_read() -> None:
    config = {"sessions": {"auto_prune": True, "vacuum_after_prune": False}}
    assert UpkeepSettings.from_mapping(config) == UpkeepSettings(auto_prune=True, vacuum=False)
