"""The notices about other versions in a real window, with a release feed on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from hermes_desktop.services.settings.settings_repository import OPTIONS
from hermes_desktop.services.updates.release_feed import FEED_VARIABLE, NO_FEED
from hermes_desktop.services.updates.update_watch import APART_S, SETTING, ThisProgram
from hermes_desktop.ui.chat.link_confirmation import LinkQuestion
from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.release_server import ReleaseServer
from tests.fakes.window_stage import WindowStage

SCREENS = Path(__file__).parents[2] / ".ci" / "out" / "screens"
NOTES = """- Replies appear faster.
- The session list remembers its filter.
- <b>Not bold</b>: notes are plain text."""
PAGE = "https://releases.example/9.1.0"
FEED = {"version": "9.1.0", "date": "2026-12-01", "notes": NOTES, "page": PAGE}


@pytest.fixture
def server() -> Iterator[ReleaseServer]:
    with ReleaseServer(FEED) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "desktop").mkdir(parents=True, mode=0o700)
    (folder / "desktop" / "settings.yaml").write_text("check_updates: true\n")
    return folder


@pytest.fixture(params=["light", "dark"])
def either(qapp: QApplication, request: pytest.FixtureRequest) -> Iterator[Theme]:
    theme = Theme(qapp, request.param)
    theme.name = request.param
    yield theme
    theme.deleteLater()
    qapp.setPalette(QPalette())


def stage_for(home: Path, theme: Theme, server: ReleaseServer) -> WindowStage:
    return WindowStage(home, theme, {FEED_VARIABLE: server.url})


def upgrade(stage: WindowStage, folder: Path, version: str) -> None:
    """Another version is installed below the running program."""
    metadata = folder / f"hermes_desktop-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").touch()
    stage.services.updates._program = ThisProgram("0.1.0", folder)


def save(stage: WindowStage, name: str) -> None:
    SCREENS.mkdir(parents=True, exist_ok=True)
    assert stage.window.grab().save(str(SCREENS / name))


@pytest.mark.asyncio
async def test_a_release_is_told_with_notes_command_and_page(home, either, server) -> None:
    async with stage_for(home, either, server) as stage:
        strip = stage.window.updates
        assert strip.isHidden()
        await stage.services.updates.look()
        await stage.until(strip.isVisible)
        assert strip.title.text() == "Hermes Desktop 9.1.0 was released on 1 December 2026."
        assert strip.accessibleName() == strip.title.text()
        await stage.until(lambda: strip.command.isVisible() and strip.page.isVisible())
        assert strip.command.text().startswith("git pull && ")
        assert strip.restart.isHidden()
        assert strip.notes.isHidden()
        strip.more.click()
        await stage.until(strip.notes.isVisible)
        assert strip.notes.toPlainText() == NOTES
        strip.copy.click()
        assert QGuiApplication.clipboard().text() == strip.command.text()
        await stage.until(lambda: strip.notes.height() > 40)
        save(stage, f"update-release-{either.name}.png")


@pytest.mark.asyncio
async def test_the_page_is_opened_only_after_a_question(home, theme, server) -> None:
    async with stage_for(home, theme, server) as stage:
        opened: list[str] = []
        stage.window.page._open_address = opened.append
        await stage.services.updates.look()
        await stage.until(stage.window.updates.page.isVisible)
        for button in ("cancel", "open"):
            stage.window.updates.page.click()
            question = await stage.until_shown(LinkQuestion)
            assert PAGE in question.informativeText()
            assert not opened
            if button == "open":
                question.open_button.click()
            else:
                QTest.keyClick(question, Qt.Key.Key_Escape)
            await stage.until(lambda: not stage.window.findChildren(LinkQuestion))
        assert opened == [PAGE]


@pytest.mark.asyncio
async def test_a_closed_notice_does_not_return_before_the_next_release(home, theme, server) -> None:
    async with stage_for(home, theme, server) as stage:
        await stage.services.updates.look()
        await stage.until(stage.window.updates.isVisible)
        stage.window.updates.close_button.click()
        await stage.until(stage.window.updates.isHidden)
        await stage.until(lambda: stage.services.updates.news.release is None)
    async with stage_for(home, theme, server) as stage:
        await stage.services.updates.look()
        assert stage.window.updates.isHidden()
        server.answer = {"version": "9.2.0", "date": "2026-12-09"}
        clock = stage.services.updates._clock
        stage.services.updates._clock = LaterClock(clock.time() + APART_S)
        await stage.services.updates.look()
        await stage.until(stage.window.updates.isVisible)
        assert "9.2.0" in stage.window.updates.title.text()
        assert stage.window.updates.more.isHidden()
        assert stage.window.updates.page.isHidden()


class LaterClock:
    """Shows one time."""

    def __init__(self, now: float) -> None:
        self._now = now

    def time(self) -> float:
        return self._now


async def upgraded_below(stage: WindowStage, folder: Path) -> list[bool]:
    """Install 9.1.0 below the running program; return a list that gets each wish to restart."""
    asked: list[bool] = []
    stage.window.restart_wanted.connect(lambda: asked.append(True))
    upgrade(stage, folder, "9.1.0")
    await stage.services.updates.look()
    return asked


@pytest.mark.asyncio
async def test_an_upgrade_offers_a_restart_in_place_of_the_release(
    home, either, server, tmp_path
) -> None:
    async with stage_for(home, either, server) as stage:
        asked = await upgraded_below(stage, tmp_path / "site")
        strip = stage.window.updates
        await stage.until(strip.restart.isVisible)
        assert strip.title.text() == "Version 9.1.0 is installed, but 0.1.0 is still running."
        assert strip.command.visibleRegion().isEmpty()
        assert strip.page.isHidden()
        save(stage, f"update-restart-{either.name}.png")
        strip.restart.click()
        assert asked == [True]
        strip.close_button.click()
        await stage.until(strip.isHidden)


@pytest.mark.asyncio
async def test_unsaved_settings_are_asked_about_before_a_restart(
    home, theme, server, tmp_path
) -> None:
    async with stage_for(home, theme, server) as stage:
        asked = await upgraded_below(stage, tmp_path / "site")
        stage.window.show_settings()
        view = stage.window.settings.view
        await stage.until(lambda: view.ready)
        view.draft.give("session_store_max_age_days", "30")
        await stage.until(stage.window.updates.restart.isVisible)
        stage.window.updates.restart.click()
        await stage.until(QApplication.activeModalWidget)
        assert not asked
        QTest.keyClick(QApplication.activeModalWidget(), Qt.Key.Key_Escape)
        await stage.until(lambda: QApplication.activeModalWidget() is None)
        assert not asked
        view.draft.drop("session_store_max_age_days")


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.asyncio
async def test_the_setting_waits_for_a_feed(tmp_path, theme, server, named) -> None:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    environ = {FEED_VARIABLE: server.url} if named else {}
    async with WindowStage(folder, theme, environ) as stage:
        stage.window.show_settings()
        view = stage.window.settings.view
        await stage.until(lambda: view.ready)
        view.show_setting(SETTING)
        row = next(each for each in view.findChildren(FieldRow) if each.key == SETTING)
        assert row.editor.widget.isEnabled() is named
        assert not row.editor.box.isChecked()
        assert (NO_FEED in row.notes.words) is not named
        if named:
            row.editor.box.click()
            view.saving.save()
            await stage.until(lambda: server.requests)  # at once, not after the next interval
            await stage.until(stage.window.updates.isVisible)
        else:
            await stage.services.updates.look()
            assert not server.requests


def test_the_setting_is_off_until_the_user_allows_it() -> None:
    assert OPTIONS[SETTING].default is False
