"""The whole path on a home built by hermes-agent: list, resume, streamed reply, export."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex

from hermes_desktop.services.sessions.live_catalog import ListQuery
from tests.fakes import model_server
from tests.fakes.program import Program
from tests.fakes.window_stage import WindowStage

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, pytest.mark.timeout(300)]
PICTURE_SESSION = "20260101_000001_aaaaaa"


@pytest.fixture
def home(hermes: Any) -> Any:
    """A home that the real program filled."""
    hermes.script("build_home.py", str(hermes.state_db))
    return hermes


def ids_of(hermes: Any, limit: int) -> list[str]:
    """The ids of ``hermes sessions list``, in its order: the last word of each row."""
    lines = hermes.command("sessions", "list", "--limit", str(limit)).splitlines()
    rule = next(number for number, line in enumerate(lines) if set(line.strip()) == {"─"})
    return [line.split()[-1] for line in lines[rule + 1 :] if line.strip()]


@pytest.mark.parametrize("limit", [1, 5, 20, 500])
def test_both_command_lines_list_the_same_ids(home: Any, limit: int) -> None:
    ours = Program(home.home).run("sessions", "list", "--limit", str(limit), "--json")
    assert ours.code == 0, ours.err
    assert [row["id"] for row in json.loads(ours.out)] == ids_of(home, limit)


@pytest.mark.asyncio
async def test_the_window_shows_the_same_set(qtbot: Any, theme: Any, home: Any) -> None:
    wanted = set(ids_of(home, 500))
    async with WindowStage(home.home, theme) as stage:
        full = await stage.services.catalog.page(ListQuery(limit=1000))
        empty = await stage.services.catalog.page(ListQuery(limit=1000, empty=True))
        assert {row.id for row in full.rows} | {row.id for row in empty.rows} == wanted
        assert full.empty_total == len(empty.rows) > 0
        model = stage.window.pane.view.model()
        await stage.until(lambda: model.session_count == len(full.rows))
        shown = [
            model.summary_at(model.index(row, 0)) for row in range(model.rowCount(QModelIndex()))
        ]
        assert {row.id for row in shown if row is not None} == {row.id for row in full.rows}
        await stage.until(stage.window.pane.fold.isVisible)


@pytest.mark.asyncio
async def test_a_resumed_session_is_exported_with_both_messages(
    qtbot: Any, theme: Any, home: Any
) -> None:
    async with WindowStage(home.home, theme) as stage:
        stage.server.script(model_server.text("The reply comes word by word.", delay=0.02))
        await stage.open(PICTURE_SESSION)
        turn = await stage.type_and_send("A question from the window.")
        assert turn.outcome == "done", turn.error_title
        await stage.until(lambda: "The reply comes word by word." in stage.shown_text())

    exported = home.home.parent / "export.jsonl"
    home.command("sessions", "export", str(exported), "--session-id", PICTURE_SESSION)
    session = json.loads(exported.read_text(encoding="utf-8").splitlines()[0])
    said = [(each["role"], each["content"]) for each in session["messages"]]
    assert said[-2:] == [
        ("user", "A question from the window."),
        ("assistant", "The reply comes word by word."),
    ]
    with contextlib.closing(sqlite3.connect(home.state_db)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []


def files_of(home: Path) -> set[str]:
    return {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}


@pytest.mark.asyncio
async def test_looking_changes_nothing(qtbot: Any, theme: Any, home: Any) -> None:
    def rows() -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(home.state_db)) as conn:
            return [
                *conn.execute("SELECT * FROM sessions ORDER BY id"),
                *conn.execute("SELECT * FROM messages ORDER BY id"),
                *conn.execute("SELECT * FROM gateway_routing"),
                *conn.execute("SELECT * FROM state_meta"),
            ]

    before = rows()
    before_files = files_of(home.home)
    async with WindowStage(home.home, theme) as stage:
        page = await stage.services.catalog.page(ListQuery(limit=1000))
        for summary in page.rows[:6]:
            await stage.open(summary.id)
    assert rows() == before
    added = files_of(home.home) - before_files
    ours = {each for each in added if each.startswith("desktop/")}
    assert added - ours <= {"state.db-wal", "state.db-shm", "config.yaml"}
