"""Commands and strangers at a gateway that the real services host."""

from pathlib import Path

import pytest

from hermes_desktop.core.events import PairingChanged
from tests.fakes.hosting import HostStage, host_stage

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]


async def ask(stage: HostStage, text: str, *, chat: str = "c1", user: str = "u1") -> str:
    """Write to the bot; what it answers."""
    before = len(stage.chat.texts(chat))
    stage.chat.say(text, chat=chat, user=user)
    await stage.until(lambda: len(stage.chat.texts(chat)) > before)
    return str(stage.chat.texts(chat)[-1])


async def test_commands_reach_the_host_and_restart_it(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        assert "telegram connected" in await ask(stage, "/status")
        assert "fake-model answers" in await ask(stage, "/model")
        assert "starts anew" in await ask(stage, "/restart")
        await stage.until(lambda: stage.words()[-3:] == ["stopping", "starting", "running"])
        assert "fake-model answers" in await ask(stage, "/model")
        assert stage.model.requests == []


async def test_a_stranger_is_let_in_and_out_without_a_restart(tmp_path: Path) -> None:
    config = {"telegram": {"unauthorized_dm_behavior": "pair"}}
    async with host_stage(tmp_path, config=config) as stage:
        news: list[PairingChanged] = []
        stage.services.bus.subscribe(PairingChanged, news.append)
        await stage.host.start()
        assert "hermes pairing approve telegram" in await ask(stage, "hi", chat="c9", user="u9")
        assert len(news) == 1
        [waiting] = await stage.services.pairing.pending()
        assert waiting.user_id == "u9"
        await stage.services.pairing.approve("telegram", waiting.entry_id)
        assert "Hermes Desktop" in await ask(stage, "/version", chat="c9", user="u9")
        await stage.services.pairing.revoke("telegram", "u9")
        before = stage.chat.texts("c9")
        stage.chat.say("/version", chat="c9", user="u9")
        await stage.until(lambda: not stage.chat.pending)
        assert stage.chat.texts("c9") == before


async def test_a_home_open_to_everybody_by_mistake_is_not_hosted(tmp_path: Path) -> None:
    config = {"telegram": {"dm_policy": "open"}}
    async with host_stage(tmp_path, config=config) as stage:
        await stage.host.start()
        refusal = stage.host.status.refusal
        assert refusal is not None
        assert refusal.title == "Everybody could write to the assistant."
        assert not refusal.may_insist


async def test_the_window_answers_commands_too(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        sent = await stage.services.chat.send("/version")
        finished = await stage.services.chat._adapter.wait(sent.turn_id)
        assert finished.reply.startswith("Hermes Desktop ")
        assert not finished.stored
        assert stage.model.requests == []
