"""The real Telegram adapter while its settings change, against a server that speaks the Bot API."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from hermes_desktop.services.settings.platform_checks import RefusedByPlatformError
from hermes_desktop.services.settings.settings_repository import Change
from tests.fakes.bot_api_emulator import TOKEN
from tests.fakes.telegram_server import TelegramServer, telegram_server
from tests.fakes.telegram_stage import TelegramStage, telegram_stage

OTHER = "987654321:AAAnother-token-of-the-same-bot-000000"


@pytest_asyncio.fixture
async def server() -> AsyncIterator[TelegramServer]:
    async with telegram_server() as server:
        yield server


@pytest_asyncio.fixture
async def stage(tmp_path: Path, server: TelegramServer) -> AsyncIterator[TelegramStage]:
    async with telegram_stage(tmp_path, server.base_url) as stage:
        await stage.connected()
        yield stage


async def answered(stage: TelegramStage, server: TelegramServer, words: str) -> None:
    before = len(server.texts())
    server.say(words)
    await stage.until(lambda: f"You said: {words}" in server.texts()[before:])


def write_token(stage: TelegramStage, token: str) -> None:
    file = stage.home / "config.yaml"
    data = yaml.safe_load(file.read_text())
    data["platforms"]["telegram"]["token"] = token
    file.write_text(yaml.safe_dump(data))


@pytest.mark.asyncio
async def test_people_change_without_a_connection_and_tokens_with_one(
    stage: TelegramStage, server: TelegramServer
) -> None:
    await answered(stage, server, "before")
    asked = len(server.called("getMe"))
    await stage.services.settings.apply([Change("telegram.allow_from", ["42", "43"])])
    await answered(stage, server, "still the same connection")
    assert len(server.called("getMe")) == asked
    write_token(stage, OTHER)
    await stage.until(lambda: stage.health().state == "fatal")
    title = "telegram cannot be connected with the new settings."
    await stage.until(lambda: title in [notice.title for notice in stage.notices])
    server.say("while it was wrong")
    write_token(stage, TOKEN)
    await stage.connected()
    await stage.until(lambda: "You said: while it was wrong" in server.texts())
    assert len(server.called("getMe")) > asked


@pytest.mark.asyncio
async def test_a_token_that_telegram_refuses_is_not_stored(
    stage: TelegramStage, server: TelegramServer
) -> None:
    before = (stage.home / "config.yaml").read_text()
    server.refuse("getMe", 401, "Unauthorized")
    with pytest.raises(RefusedByPlatformError) as caught:
        await stage.services.settings.apply(
            [Change("agent.max_turns", 5)], {"TELEGRAM_BOT_TOKEN": OTHER}
        )
    assert caught.value.key == "TELEGRAM_BOT_TOKEN"
    assert "Unauthorized" in caught.value.detail
    assert (stage.home / "config.yaml").read_text() == before
    assert not (stage.home / "desktop" / "secrets.json").exists()
    await answered(stage, server, "still there")
