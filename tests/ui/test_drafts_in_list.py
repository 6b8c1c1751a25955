"""A session with an unsent message shows it in the list."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from hermes_desktop.state import SessionDB
from hermes_desktop.ui.sessions.session_list_model import DRAFT_ROLE
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.window_stage import WindowStage

pytestmark = pytest.mark.asyncio
SPOKEN = int(Qt.ItemDataRole.AccessibleTextRole)


def two_sessions(home: Path) -> None:
    home.mkdir(mode=0o700)
    db = SessionDB(home / "state.db")
    for name in ("one", "two"):
        db.create_session(name, "desktop")
        db.append_message(name, "user", f"About {name}")
        db.append_message(name, "assistant", "Yes.")
    db.close()


async def test_the_row_shows_the_draft_until_the_session_is_open_again(
    tmp_path: Path, theme: Theme
) -> None:
    home = tmp_path / "home"
    two_sessions(home)
    async with WindowStage(home, theme) as stage:
        view = stage.window.pane.view
        model = view.model()

        def data(name: str, role: int) -> str:
            return str(model.data(model.index(model.row_of_session(name), 0), role))

        await stage.open("one")
        await stage.until(stage.window.page.composer.field.isEnabled)
        stage.window.page.composer.set_text("Not sent\nyet")
        assert data("one", DRAFT_ROLE) == "", "the message field shows it"
        await stage.open("two")
        assert data("one", DRAFT_ROLE) == "Not sent yet"
        assert data("one", SPOKEN).endswith("draft: Not sent yet")
        assert data("two", DRAFT_ROLE) == ""
        index = model.index(model.row_of_session("one"), 0)
        row = view.viewport().grab(view.visualRect(index)).toImage()
        accent = QColor(theme.palette.accent).rgb()
        lower = range(row.height() // 2, row.height())
        assert any(row.pixel(x, y) == accent for x in range(row.width()) for y in lower)
        await stage.open("one")
        assert stage.window.page.composer.text == "Not sent\nyet"
        assert data("one", DRAFT_ROLE) == ""
        stage.window.page.composer.set_text("")
        await stage.open("two")
        assert data("one", DRAFT_ROLE) == ""


async def test_a_draft_of_the_last_start_is_shown(tmp_path: Path, theme: Theme) -> None:
    home = tmp_path / "home"
    two_sessions(home)
    async with WindowStage(home, theme) as stage:
        await stage.open("one")
        await stage.until(stage.window.page.composer.field.isEnabled)
        stage.window.page.composer.set_text("For later")
        await stage.open("two")
    async with WindowStage(home, theme) as stage:
        model = stage.window.pane.view.model()
        await stage.until(lambda: model.row_of_session("one") >= 0)
        index = model.index(model.row_of_session("one"), 0)
        await stage.until(lambda: model.data(index, DRAFT_ROLE) == "For later")
