"""Quitting while settings are not saved; other ways to leave keep what was filled in."""

import pytest
from PySide6.QtWidgets import QPushButton

from hermes_desktop.ui.settings.settings_view import UnsavedChangesDialog
from tests.fakes.window_stage import WindowStage

DAYS = "session_store_max_age_days"


class Leaving(WindowStage):
    """A window with one setting filled in, and how often it wanted to quit."""

    async def fill_in(self, given: str = "45") -> None:
        self.quits = 0
        self.window.quit_wanted.connect(self._count)
        self.window.show_settings()
        self.view = self.window.settings.view
        await self.until(lambda: self.view.ready)
        self.view.draft.give(DAYS, given)

    def _count(self) -> None:
        self.quits += 1

    async def question(self) -> UnsavedChangesDialog:
        await self.until(self._questions)
        return self._questions()[0]

    def _questions(self) -> list[UnsavedChangesDialog]:
        return [each for each in self.window.findChildren(UnsavedChangesDialog) if each.isVisible()]

    async def answer(self, button: QPushButton) -> None:
        button.click()
        await self.until(lambda: not self._questions() and not self.window.settings._leaving)


@pytest.mark.asyncio
async def test_save_and_quit(home, theme) -> None:
    async with Leaving(home, theme) as stage:
        await stage.fill_in()
        stage.window._actions["quit"].trigger()
        question = await stage.question()
        assert "1 change to the settings is not saved" in question.text()
        assert stage.quits == 0
        await stage.answer(question.save)
        assert stage.quits == 1
        assert f"{DAYS}: 45" in (home / "config.yaml").read_text()


@pytest.mark.asyncio
async def test_quit_without_saving_or_not_at_all(home, theme) -> None:
    async with Leaving(home, theme) as stage:
        await stage.fill_in()
        stage.window._actions["quit"].trigger()
        await stage.answer(
            (await stage.question()).button(UnsavedChangesDialog.StandardButton.Cancel)
        )
        assert stage.quits == 0
        stage.window._actions["quit"].trigger()
        await stage.answer((await stage.question()).leave)
        assert stage.quits == 1
        assert DAYS not in (home / "config.yaml").read_text()


@pytest.mark.asyncio
async def test_what_cannot_be_saved_keeps_the_program(home, theme) -> None:
    async with Leaving(home, theme) as stage:
        await stage.fill_in("many")
        stage.window._actions["quit"].trigger()
        await stage.answer((await stage.question()).save)
        assert stage.quits == 0
        assert stage.view.page_name == "sessions"


@pytest.mark.asyncio
async def test_asked_twice_it_ends_and_with_nothing_pending_at_once(home, theme) -> None:
    async with Leaving(home, theme) as stage:
        await stage.fill_in()
        stage.window._actions["quit"].trigger()
        question = await stage.question()
        stage.window.want_to_quit()
        assert stage.quits == 1
        await stage.answer(question.leave)
        stage.view.saving.discard()
        stage.window.want_to_quit()
        assert stage.quits == 3


@pytest.mark.asyncio
async def test_another_page_and_back_keeps_what_was_filled_in(home, theme) -> None:
    async with Leaving(home, theme) as stage:
        await stage.fill_in()
        stage.window._actions["focus_list"].trigger()
        assert stage.window._rail.settings_button.needs
        stage.window.show_settings()
        assert stage.view.draft.edits[DAYS].value == 45
