"""The settings as the desktop program has them: one book, one keyring, told to everybody."""

from pathlib import Path

import pytest

from hermes_desktop.core.events import SettingsChanged
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.settings.settings_repository import Change
from tests.fakes.model_server import ModelServer


@pytest.mark.asyncio
async def test_a_model_chosen_in_the_settings_answers_the_next_question(tmp_path: Path) -> None:
    paths = HermesPaths(tmp_path, tmp_path)
    with ModelServer() as server:
        services = build_services(paths, redactor=SecretRedactor(), environ={}, hosts=False)
        news: list[SettingsChanged] = []
        services.bus.subscribe(SettingsChanged, news.append)
        try:
            await services.start(watch=False)
            for model in ("first", "second"):
                applied = await services.settings.apply(
                    [Change("model.default", model), Change("model.base_url", server.base_url)]
                )
                assert "model.default" in applied.at_once
                assert (await services.chat.readiness()).model == model
        finally:
            await services.close()
    assert [change.key for change in news[0].changes] == ["model.default", "model.base_url"]
