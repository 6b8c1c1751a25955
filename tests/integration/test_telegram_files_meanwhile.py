"""Pictures and files that come while a reply is being written. The server is one of our own."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import hang, text, tool_call
from tests.fakes.telegram_server import TelegramServer, telegram_server
from tests.fakes.telegram_stage import telegram_stage

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]

STREAMING = {"enabled": True, "edit_interval": 0.05, "buffer_threshold": 1}


def send_picture(telegram: TelegramServer, words: str = "") -> None:
    telegram.files["picture"] = b"not much of a picture"
    size = {"file_id": "picture", "file_unique_id": "u", "width": 9, "height": 9}
    telegram.say("", photo=[size], **({"caption": words} if words else {}))


@pytest.mark.parametrize("mode", ["steer", "queue", "interrupt"])
@pytest.mark.parametrize("words", ["look at this", ""])
async def test_a_picture_reaches_the_model_whatever_runs(
    tmp_path: Path, mode: str, words: str
) -> None:
    config: dict[str, Any] = {"streaming": STREAMING, "display": {"busy_input_mode": mode}}
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, **config) as stage,
    ):
        first = hang("A long ") if mode == "interrupt" else text("a long story " * 30, delay=0.05)
        stage.model.script(first, text("I have it."))
        telegram.say("Tell me a long story")
        await stage.until(telegram.texts)
        send_picture(telegram, words)
        await stage.until(lambda: "I have it." in telegram.texts())
        prompt = stage.model.requests[-1].messages[-1]["content"]
        assert "[A picture came with this message: " in prompt
        assert words in prompt


async def test_a_picture_is_no_answer_to_a_question(tmp_path: Path) -> None:
    config: dict[str, Any] = {"platform_toolsets": {"telegram": ["clarify"]}}
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, **config) as stage,
    ):
        ask = tool_call("clarify", question="Which one?", choices=["red", "blue"])
        stage.model.script(ask, text("I see it."))
        telegram.say("Paint it")
        await stage.until(lambda: any("Which one?" in each for each in telegram.texts()))
        send_picture(telegram, "this one")
        await stage.until(lambda: "I see it." in telegram.texts())
        said = [str(message["content"]) for message in stage.model.requests[-1].messages]
        assert any("this one\n[A picture came with this message: " in each for each in said)


@pytest.mark.parametrize("words", ["/stop", "/new"])
async def test_a_download_that_takes_long_can_be_stopped(tmp_path: Path, words: str) -> None:
    config: dict[str, Any] = {"approvals": {"destructive_slash_confirm": False}}
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, **config) as stage,
    ):
        telegram.files["report"] = b"x" * 2000
        telegram.cuts["report"], telegram.drips = 1, True
        telegram.say("", document={"file_id": "report", "file_name": "a.txt"}, caption="read it")
        await stage.until(lambda: not telegram.cuts["report"])
        telegram.say(words)
        await stage.until(telegram.texts)
        telegram.say("and now?")
        await stage.until(lambda: any("and now?" in each for each in telegram.texts()))
        (request,) = stage.model.requests
        said = [message["content"] for message in request.messages if message["role"] == "user"]
        assert len(said) == 1
        assert "restart" not in said[0]
        await stage.until(lambda: stage.services.gateway.look().running_turns == 0)


async def test_what_was_being_fetched_when_we_left_is_fetched_by_the_next_run(
    tmp_path: Path,
) -> None:
    async with telegram_server() as telegram:
        telegram.files["report"] = b"x" * 2000
        telegram.cuts["report"], telegram.drips = 1, True
        async with telegram_stage(tmp_path, telegram.base_url) as stage:
            telegram.say(
                "", document={"file_id": "report", "file_name": "a.txt"}, caption="read it"
            )
            await stage.until(lambda: not telegram.cuts["report"])
            began = time.monotonic()
        assert time.monotonic() - began < 10
        async with telegram_stage(tmp_path, telegram.base_url) as stage:
            await stage.until(lambda: any("read it" in each for each in telegram.texts()))
            prompt = str(stage.model.requests[-1].messages[-1]["content"])
            assert "read it\n[A file came with this message: " in prompt
            assert len(stage.model.requests) == 1
