"""Work that other programs hand to our gateway, which does not do it yet, is reported."""

import contextlib
import json
import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from hermes_desktop.core.events import UndoneWork
from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE
from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.identity import gateway_lookalike, write_record

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]


def write_jobs(home: Path, *names: str) -> None:
    """As `hermes cron create` does: the file is replaced."""
    folder = home / "cron"
    folder.mkdir(exist_ok=True)
    prepared = folder / "jobs.tmp"
    prepared.write_text(json.dumps({"jobs": [{"name": each} for each in names]}))
    prepared.rename(folder / "jobs.json")


def write_cards(board: Path, *states: str) -> None:
    board.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(board, isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode=WAL")
        conn.execute("CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, status TEXT)")
        conn.execute("DELETE FROM tasks")
        conn.executemany("INSERT INTO tasks (status) VALUES (?)", [(each,) for each in states])


async def until_undone(stage: HostStage, undone: UndoneWork | None) -> None:
    await stage.until(lambda: stage.host.status.undone == undone)


def lookers() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "scheduled-work"]


async def test_it_is_reported_while_we_host_and_until_it_is_gone(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        assert not lookers()
        await stage.host.start()
        assert stage.host.status.undone is None

        write_jobs(stage.home, "news")
        await until_undone(stage, UndoneWork(1, 0, ("news",)))
        board = stage.home / "kanban/boards/garden/kanban.db"
        write_cards(board, "ready", "done", "triage")
        await until_undone(stage, UndoneWork(1, 2, ("news",), ("garden",), 1))
        assert stage.host.state == "running"
        write_jobs(stage.home)
        await until_undone(stage, UndoneWork(0, 2, (), ("garden",), 1))
        write_cards(board, "done", "archived")
        await until_undone(stage, None)

        write_jobs(stage.home, "news")
        await until_undone(stage, UndoneWork(1, 0, ("news",)))
        await stage.host.stop()
        assert stage.host.status.undone is None
        await stage.until(lambda: not lookers())


async def test_it_stays_after_a_person_insisted_and_over_a_restart(tmp_path: Path) -> None:
    async with host_stage(tmp_path, prepare=lambda home: write_jobs(home, "news")) as stage:
        await stage.host.start()
        assert stage.host.status.refusal is not None
        assert stage.host.status.undone is None

        await stage.host.start(insist=True)

        await until_undone(stage, UndoneWork(1, 0, ("news",)))
        await stage.host.restart()
        await until_undone(stage, UndoneWork(1, 0, ("news",)))
        assert len(lookers()) == 1


async def test_it_is_reported_for_another_hermes_desktop_and_not_for_hermes(
    tmp_path: Path,
) -> None:
    async with host_stage(tmp_path, prepare=lambda home: write_jobs(home, "news")) as stage:
        with gateway_lookalike() as record:
            write_record(stage.home / PID_FILE, record)
            await stage.reach("attached")
            assert not lookers()
        await stage.reach("stopped")
        with gateway_lookalike("hermes-gateway", "--parent", "1") as record:
            write_record(stage.home / PID_FILE, record)
            await until_undone(stage, UndoneWork(1, 0, ("news",)))
            assert stage.host.state == "attached"
        await stage.reach("stopped")
        assert stage.host.status.undone is None
    assert not lookers()


async def test_files_are_read_off_the_loop_and_only_when_they_changed(tmp_path: Path) -> None:
    opened: list[tuple[str, str]] = []

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event == "open" and str(args[0]).endswith("jobs.json"):
            opened.append((threading.current_thread().name, str(args[0])))

    sys.addaudithook(hook)
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        write_jobs(stage.home, "news")
        await until_undone(stage, UndoneWork(1, 0, ("news",)))
        opened.clear()
        (looking,) = [each for each in threading.enumerate() if each.name == "scheduled-work"]
        for number in range(3):
            write_jobs(stage.home, "news", f"job {number}")
            await stage.until(lambda number=number: f"job {number}" in names(stage))

        assert len(opened) == 3
        assert {name for name, _ in opened} == {looking.name}


def names(stage: HostStage) -> tuple[str, ...]:
    return stage.host.status.undone.job_names if stage.host.status.undone else ()
