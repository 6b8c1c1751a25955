"""The ways that lead to setting up a platform."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QLineEdit

from hermes_desktop.ui.settings.settings_view import SettingsView
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.window_stage import WindowStage


@pytest.mark.asyncio
async def test_the_page_of_the_gateway_leads_to_the_settings(home: Path, theme: Theme) -> None:
    async with WindowStage(home, theme) as stage:
        stage.window.show_platforms()
        page = stage.window.gateway.page
        await stage.until(page.empty.isVisible)
        page.empty.setup.click()
        await stage.until(lambda: stage.window.findChildren(SettingsView))
        view = stage.window.findChildren(SettingsView)[0]
        await stage.until(lambda: view.isVisible() and view.page_name == "platforms")


@pytest.mark.asyncio
async def test_from_a_setting_that_makes_no_sense_to_its_field_and_back(home, theme) -> None:
    (home / "config.yaml").write_text("")
    stage = WindowStage(home, theme)
    stage.configure = lambda: (home / "config.yaml").write_text(
        f"model:\n  default: m\n  base_url: {stage.server.base_url}\nagent:\n  max_turns: 90000\n"
    )
    async with stage:
        reason = stage.window.page.composer.reason
        await stage.until(reason.isVisible)
        assert "agent.max_turns is 90000" in reason.words.text()
        reason.settings_button.click()
        view = stage.window.settings.view
        await stage.until(lambda: view.ready and view.page_name == "assistant")
        await stage.until(lambda: isinstance(view.focusWidget(), QLineEdit))
        assert view.focusWidget().accessibleName() == "Model calls per turn"
        view.draft.give("agent.max_turns", "90")
        view.saving.save()
        await stage.until(lambda: not view.draft.edits and not view.controller.busy)
        stage.window._actions["focus_composer"].trigger()
        await stage.until(lambda: not reason.isVisible())
        assert stage.window.page.composer.field.isEnabled()
