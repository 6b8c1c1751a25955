"""The window on homes of newer Hermes: everything can be read, nothing is written."""

import contextlib
import sqlite3
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QMenu

from hermes_desktop.core.errors import StateReadOnlyError
from hermes_desktop.ui.sessions.session_commands import SessionCommands
from tests.fakes.newest_home import become_single_writer, bytes_of, make_newest_file

pytestmark = pytest.mark.asyncio


def mark(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as conn:
        become_single_writer(conn)


@pytest.mark.parametrize("journal", ["wal", "delete"])
async def test_a_session_is_read_and_continued_in_hermes(stage, journal: str) -> None:
    file = stage.paths.state_db
    make_newest_file(file, single_writer=True, journal=journal)
    before = bytes_of(file)
    async with stage:
        await stage.show("s_tip")
        composer, box = stage.page.composer, stage.page.composer.read_only
        await stage.until(box.isVisible)
        assert "go on" in stage.texts()
        assert "[a summary]" not in stage.texts()
        assert "belongs to Hermes' gateway" in box.words.text()
        assert box.command.text() == "hermes --resume s_tip"
        assert not box.copy.isVisible()
        box.copy_command.click()
        assert QApplication.clipboard().text() == "hermes --resume s_tip"
        await stage.until(lambda: not stage.page.header.title.isEnabled())
        assert "belongs to Hermes' gateway" in stage.page.header.title.toolTip()
        assert not composer.reason.isVisible()
        assert not composer.field.isEnabled()

        stage.page.new_chat()
        await stage.until(lambda: box.command.text() == "hermes")
        assert "hermes" in stage.page.empty.title.text()
        with pytest.raises(StateReadOnlyError):
            await stage.services.chat.send("hello")
    assert bytes_of(file) == before


async def test_what_changes_sessions_is_off_and_says_why(stage) -> None:
    make_newest_file(stage.paths.state_db, single_writer=True)
    async with stage:
        summary = await stage.services.catalog.summary("s_cli")
        commands = SessionCommands(
            stage.services.actions, stage.slots, stage.bus, stage.theme, stage.page
        )
        menu = QMenu()
        commands.fill_menu(menu, (summary,), lambda: None)
        on = {action.text(): action.isEnabled() for action in menu.actions() if action.text()}
        assert on == {
            "Rename": False,
            "Pin": False,
            "Archive": False,
            "Delete…": False,
            "Copy ID": True,
        }
        assert "belongs to Hermes' gateway" in menu.actions()[0].toolTip()
        for key in (commands.archive, commands.delete, commands.unarchive):
            stage.notices.clear()
            key((summary,))
            await stage.until(lambda: stage.notices)
            assert "belongs to Hermes' gateway" in stage.notices[0].title
        menu.deleteLater()


async def test_without_the_marks_messages_are_sent(stage) -> None:
    make_newest_file(stage.paths.state_db, single_writer=False)
    async with stage:
        await stage.show("s_cli")
        await stage.until(stage.page.composer.field.isEnabled)
        assert not stage.page.composer.read_only.isVisible()
        assert stage.page.header.title.isEnabled()


async def test_marks_that_appear_while_the_window_is_open(stage) -> None:
    async with stage:
        stage.make_session("s_cli", "Which train?", "The 6:12.")
        await stage.show("s_cli")
        await stage.until(stage.page.composer.field.isEnabled)
        stage.page.composer.set_text("typed")

        mark(stage.paths.state_db)

        box = stage.page.composer.read_only
        await stage.until(box.isVisible)
        assert box.command.text() == "hermes --resume s_cli"
        assert stage.page.composer.text == "typed"
        # The box may follow another event, before the change itself is announced.
        await stage.until(
            lambda: any("belongs to Hermes' gateway" in notice.title for notice in stage.notices)
        )
        await stage.until(lambda: not stage.page.header.title.isEnabled())
