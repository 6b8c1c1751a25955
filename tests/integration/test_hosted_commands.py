"""Commands and strangers at a gateway that the real services host."""

from pathlib import Path

import pytest

from hermes_desktop.core.errors import BusyError, NotFoundError, RefusedError
from hermes_desktop.core.events import PairingChanged
from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.model_server import Reply, text

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
        assert "fake-model at custom answers" in await ask(stage, "/model")
        assert "restarts" in await ask(stage, "/restart")
        await stage.until(lambda: stage.words()[-3:] == ["stopping", "starting", "running"])
        assert "fake-model at custom answers" in await ask(stage, "/model")
        assert stage.model.requests == []


async def test_a_stranger_is_let_in_and_out_without_a_restart(tmp_path: Path) -> None:
    config = {"telegram": {"unauthorized_dm_behavior": "pair"}}
    async with host_stage(tmp_path, config=config) as stage:
        news: list[PairingChanged] = []
        stage.services.bus.subscribe(PairingChanged, news.append)
        await stage.host.start()
        assert "hermes-desktop gateway pairing approve telegram" in await ask(
            stage, "hi", chat="c9", user="u9"
        )
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
        assert refusal.title == "Anyone could write to the assistant."
        assert not refusal.may_insist


async def test_a_chat_goes_on_in_its_conversation_before(tmp_path: Path) -> None:
    key = "agent:main:telegram:dm:c1"
    async with host_stage(tmp_path) as stage:
        with pytest.raises(RefusedError, match="not served here"):
            await stage.host.continue_in(key, "gone")
        await stage.host.start()
        await ask(stage, "one")
        assert stage.host._hosted is not None
        store = stage.host._hosted.runner.session_store
        before = store.peek_session_id(key)
        assert before is not None
        await ask(stage, "/new")
        await ask(stage, "once")
        await ask(stage, "two")
        assert store.peek_session_id(key) != before
        await stage.until(lambda: not stage.host.status.running_turns)

        for unknown in ((key, "gone"), ("agent:main:telegram:dm:c2", before)):
            with pytest.raises(NotFoundError):
                await stage.host.continue_in(*unknown)
        stage.model.script(Reply([1.0, *text("slowly").steps]))
        stage.chat.say("three", chat="c1", user="u1")
        await stage.until(lambda: stage.host.status.running_turns)
        with pytest.raises(BusyError, match="being written"):
            await stage.host.continue_in(key, before)
        await stage.until(lambda: not stage.host.status.running_turns)
        await stage.host.continue_in(key, before)

        assert stage.chat.texts("c1")[-1].startswith("This chat continues the previous session")
        assert store.peek_session_id(key) == before
        await ask(stage, "four")
        assert [m["content"] for m in stage.model.requests[-1].messages[-3:]][::2] == [
            "one",
            "four",
        ]


async def test_the_window_answers_commands_too(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        sent = await stage.services.chat.send("/version")
        finished = await stage.services.chat._adapter.wait(sent.turn_id)
        assert finished.reply.startswith("Hermes Desktop ")
        assert not finished.stored
        assert stage.model.requests == []
