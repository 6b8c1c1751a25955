"""The frame: how one comes to the settings and leaves them, and what is loaded for that."""

import asyncio
import subprocess
import sys

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from hermes_desktop.services.settings.settings_repository import OPTIONS
from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.page_table import PAGES, page_of
from hermes_desktop.ui.shell.tray import Tray
from tests.fakes.window_stage import WindowStage


def test_every_option_has_a_page() -> None:
    names = {entry.name for entry in PAGES}
    assert {page_of(option) for option in OPTIONS.values()} <= names


def test_nothing_of_the_settings_is_loaded_with_the_window() -> None:
    code = (
        "import sys, hermes_desktop.ui.shell.main_window\n"
        "names = [n for n in sys.modules if n.startswith('hermes_desktop.ui.settings.')]\n"
        "print(sorted(names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['hermes_desktop.ui.settings.settings_entry']"


@pytest.mark.asyncio
async def test_key_rail_and_escape(home, theme) -> None:
    async with WindowStage(home, theme) as stage:
        window = stage.window
        assert window.settings.view is None
        window._actions["show_settings"].trigger()
        await stage.until(lambda: window.settings.shows and window.settings.view.ready)
        rail = window.findChild(type(window._rail))
        assert rail.settings_button.isChecked()
        window._actions["escape"].trigger()
        assert not window.settings.shows
        assert rail.sessions_button.isChecked()
        QTest.mouseClick(rail.settings_button, Qt.MouseButton.LeftButton)
        assert window.settings.shows


@pytest.mark.asyncio
async def test_the_page_that_was_open_is_remembered(home, theme) -> None:
    async with WindowStage(home, theme) as stage:
        stage.window.show_settings()
        view = stage.window.settings.view
        await stage.until(lambda: view.ready)
        view.show_page("sessions")
    async with WindowStage(home, theme) as stage:
        stage.window.show_settings()
        assert stage.window.settings.view.page_name == "sessions"
        await stage.until(lambda: stage.window.settings.view.ready)


def test_the_tray_leads_to_the_settings(qapp) -> None:
    tray = Tray(tray_available=lambda: False)
    heard: list[str] = []
    tray.settings_wanted.connect(lambda: heard.append("settings"))
    action = next(each for each in tray.menu.actions() if each.text() == "Settings…")
    action.trigger()
    tray.close()
    tray.deleteLater()
    assert heard == ["settings"]


@pytest.mark.asyncio
async def test_a_long_page_grows_by_itself_from_the_top(stage) -> None:
    async with stage:
        stage.view.show_page("assistant")
        keys = [key for key, o in OPTIONS.items() if page_of(o) == "assistant"]
        first = [row.key for row in stage.view.findChildren(FieldRow)]
        assert first
        await stage.until(lambda: len(fields(stage)) == len(keys))
        assert sorted(fields(stage)) == sorted(keys)


def fields(stage) -> list[str]:
    column = stage.view.stack.column("assistant")
    return [row.key for row in column.findChildren(FieldRow)]


class Shown(QObject):
    """Notes what is shown as a window of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.windows: list[str] = []

    def eventFilter(self, watched, event) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.windows.append(type(watched).__name__)
        return False


@pytest.mark.asyncio
async def test_no_part_flashes_as_a_window_while_pages_are_made(qapp, home, stage) -> None:
    (home / "config.yaml").write_text("a: 1\na: 2\nreset_by_type:\n  dm:\n    mode: idle\n")
    async with stage:
        shown = Shown()
        qapp.installEventFilter(shown)
        for entry in PAGES:
            stage.view.show_page(entry.name)
            await asyncio.sleep(0.05)
        stage.view.draft.give("session_store_max_age_days", "many")
        stage.view.strip.tell("ok", "Saved.", ("More.",), {"undo": "Undo"})
        stage.view.show_setting("reset_by_platform.telegram.mode")
        qapp.removeEventFilter(shown)
        assert not shown.windows
