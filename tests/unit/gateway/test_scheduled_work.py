"""Jobs and boards that a home expects its gateway to work on."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.gateway.identity.scheduled_work import (
    ScheduledWork,
    scheduled_work,
    work_signature,
)


def write_jobs(home: Path, data: Any) -> None:
    home.joinpath("cron").mkdir()
    home.joinpath("cron/jobs.json").write_text(
        data if isinstance(data, str) else json.dumps(data), encoding="utf-8"
    )


def test_enabled_jobs_are_named(tmp_path: Path) -> None:
    jobs = [
        {"name": "news", "enabled": True},
        {"name": "off", "enabled": False},
        {"name": "done", "enabled": True, "state": "completed"},
        {"id": "abc"},
        "nonsense",
    ]
    write_jobs(tmp_path, {"jobs": jobs})

    work = scheduled_work(tmp_path, {})

    assert work == ScheduledWork(("news", "abc"))
    assert work


@pytest.mark.parametrize("data", ["", "{", "[]", {"jobs": {}}, 7])
def test_files_without_jobs_promise_nothing(tmp_path: Path, data: Any) -> None:
    write_jobs(tmp_path, data)

    assert not scheduled_work(tmp_path, {})


def make_board(file: Path, *states: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(file)) as board:
        board.execute("CREATE TABLE tasks (id TEXT PRIMARY KEY, status TEXT)")
        board.executemany("INSERT INTO tasks (status) VALUES (?)", [(each,) for each in states])
        board.commit()


def test_boards_with_open_cards_count_unless_the_gateway_does_not_dispatch(tmp_path: Path) -> None:
    make_board(tmp_path / "kanban.db", "done", "ready")
    make_board(tmp_path / "kanban/boards/garden/kanban.db", "triage")
    make_board(tmp_path / "kanban/boards/over/kanban.db", "done", "archived")
    tmp_path.joinpath("kanban/boards/over/board.json").write_text("{}")

    make_board(tmp_path / "kanban/boards/more/kanban.db", "ready", "running")

    assert scheduled_work(tmp_path, {}) == ScheduledWork((), ("default", "garden", "more"), 4)
    assert not scheduled_work(tmp_path, {"kanban": {"dispatch_in_gateway": False}})


@pytest.mark.parametrize("content", [b"", b"no database at all"])
def test_a_file_that_is_no_board_promises_nothing(tmp_path: Path, content: bytes) -> None:
    tmp_path.joinpath("kanban.db").write_bytes(content)

    assert not scheduled_work(tmp_path, {})


def test_a_board_that_is_being_written_to_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    board = tmp_path / "kanban.db"
    make_board(board, "ready")
    with contextlib.closing(sqlite3.connect(board, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BlockingIOError):
            scheduled_work(tmp_path, {})
        writer.execute("ROLLBACK")

    assert scheduled_work(tmp_path, {}).cards == 1


def test_the_signature_changes_with_what_is_expected_and_not_by_reading(tmp_path: Path) -> None:
    seen = [work_signature(tmp_path)]

    def changed() -> bool:
        seen.append(work_signature(tmp_path))
        scheduled_work(tmp_path, {})
        assert work_signature(tmp_path) == seen[-1]
        return seen[-1] != seen[-2]

    assert not changed()
    write_jobs(tmp_path, {"jobs": []})
    assert changed()
    tmp_path.joinpath("config.yaml").write_text("kanban: {}")
    assert changed()
    board = tmp_path / "kanban/boards/garden/kanban.db"
    make_board(board, "done")
    assert changed()
    with contextlib.closing(sqlite3.connect(board, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        assert changed()
        writer.execute("INSERT INTO tasks (status) VALUES ('ready')")  # stays in the log
        assert changed()
        assert not changed()
    tmp_path.joinpath("cron/jobs.json").unlink()
    assert changed()
