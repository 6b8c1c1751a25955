"""Tokens changed in the window while the gateway of this home runs, with a service that answers."""

from pathlib import Path

import pytest

from tests.ui.settings_platforms.conftest import BETTER, GOOD, TOKEN, PlatformsStage

pytestmark = [pytest.mark.asyncio, pytest.mark.two_processes]


@pytest.fixture
def running(stage: PlatformsStage, tmp_path: Path) -> PlatformsStage:
    stage.hosts = True
    stage.environ = {"HERMES_GATEWAY_LOCK_DIR": str(tmp_path / "locks"), "PATH": ""}
    stage.more = "      expected_silence_s: 30\n      allow_from: u1\n"
    return stage


async def connected(stage: PlatformsStage, token: str) -> None:
    await stage.until(lambda: stage.chat.tokens[-1:] == [token])
    await stage.until(lambda: stage.telegram.head.state.text().startswith("Connected"))


async def test_a_new_token_is_taken_into_the_running_gateway(running: PlatformsStage) -> None:
    running.kept(**{TOKEN: GOOD})
    async with running as stage:
        await stage.services.gateway.start()
        card = await stage.card()
        await connected(stage, GOOD)
        stage.chat.set(bad_token=BETTER)
        stage.paste(BETTER)
        await stage.save()
        await stage.until(lambda: "Telegram refused it" in stage.field.message.text)
        assert stage.chat.tokens == [GOOD]
        assert stage.services.gateway.status.platforms[0].state == "connected"
        stage.chat.set(bad_token="")
        await stage.save()
        await stage.until(lambda: stage.field.message.text == "It is stored in the keyring.")
        await connected(stage, BETTER)
        assert "Telegram was connected with it" in stage.shown_text()
        card.head.switch.click()
        assert card.head.switch.text() == "Off, not saved yet"
        await stage.save()
        await stage.until(lambda: card.head.state.text() in {"Switched off", "Gateway stopped"})


async def test_removing_it_leaves_the_platform_and_bringing_it_back_connects(running) -> None:
    running.kept(**{TOKEN: GOOD})
    async with running as stage:
        await stage.services.gateway.start()
        await stage.card()
        await connected(stage, GOOD)
        await stage.offer("remove")
        await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Not set.")
        await stage.until(lambda: "Telegram is not connected any more" in stage.shown_text())
        await stage.undo()
        await stage.until(lambda: stage.chat.tokens == [GOOD, GOOD])
        await connected(stage, GOOD)


async def test_a_test_does_not_disturb_the_connection(running: PlatformsStage) -> None:
    running.kept(**{TOKEN: GOOD})
    async with running as stage:
        await stage.services.gateway.start()
        card = await stage.card()
        await connected(stage, GOOD)
        stage.press(card.body.check.button)
        await stage.until(lambda: "accepts the token" in card.body.check.answer.text)
        assert stage.chat.tokens == [GOOD]
        assert stage.chat.asked == [GOOD]
