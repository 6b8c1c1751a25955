"""The adapter that ships, tested from the window against a server that speaks the Bot API."""

import pytest

from hermes_desktop.gateway.platforms.shipped import shipped_platforms
from tests.fakes.bot_api_emulator import TOKEN as GOOD
from tests.fakes.telegram_server import telegram_server
from tests.ui.settings_platforms.conftest import BETTER, TOKEN, PlatformsStage

pytestmark = pytest.mark.asyncio


async def test_telegram_says_in_its_own_words_what_it_makes_of_a_token(
    stage: PlatformsStage,
) -> None:
    stage.kept(**{TOKEN: GOOD})
    stage.registry = shipped_platforms()
    async with telegram_server() as server:
        stage.more = f"      base_url: {server.base_url}\n"
        async with stage:
            card = await stage.card()
            stage.press(card.body.check.button)
            await stage.until(lambda: card.body.check.answer.text)
            assert card.body.check.answer.text.startswith(
                "Telegram accepts the token. The bot is @"
            )
            assert "@" in card.body.check.answer.text
            stage.paste(BETTER)
            stage.press(card.body.check.button)
            await stage.until(lambda: card.body.check.answer.text)
            assert card.body.check.answer.text == (
                "Telegram rejected the token. It answered: Unauthorized. Copy the token from "
                "@BotFather again."
            )
            await stage.save()
            await stage.until(lambda: "It answered: Unauthorized" in stage.field.message.text)
            assert "kept and still works" in stage.field.message.text
            assert stage.store.demand(TOKEN) == GOOD
