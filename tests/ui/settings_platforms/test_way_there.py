"""The ways that lead to setting up a platform."""

from pathlib import Path

import pytest

from hermes_desktop.ui.settings.settings_view import SettingsView
from hermes_desktop.ui.theme import Theme
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
