"""The gateway on Telegram, with an independent emulator of the Bot API as the other side."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.gateway.platforms.telegram.formatted import units
from tests.fakes.bot_api_emulator import TOKEN, BotApi, bot_api
from tests.fakes.model_server import hang, text
from tests.fakes.program import rows, said
from tests.fakes.tcp_relay import relay
from tests.fakes.telegram_stage import telegram_stage

pytestmark = [pytest.mark.asyncio, pytest.mark.two_processes]

STREAMING = {"enabled": True, "edit_interval": 0.1, "buffer_threshold": 4}
PICTURE = bytes.fromhex("89504e470d0a1a0a") + b"not much of a picture"


@pytest.fixture
def telegram() -> Iterator[BotApi]:
    with bot_api() as server:
        yield server


def roles(home: Path) -> list[str]:
    """Who spoke in the only session there is."""
    (session,) = rows(home)
    return [role for role, _ in said(home, session["id"])]


async def test_a_conversation(tmp_path: Path, telegram: BotApi) -> None:
    async with telegram_stage(tmp_path, telegram.base_url) as stage:
        stage.model.script(text("**Hello** there & `x < y`"), text("second"))
        message = telegram.say("hi")
        await stage.until(telegram.texts)
        assert telegram.texts() == ["Hello there & x < y"]
        (sent,) = telegram.calls("sendMessage")
        assert json.loads(sent.fields["reply_parameters"])["message_id"] == message
        marks = json.loads(sent.fields["entities"])
        assert [(each["type"], each["offset"], each["length"]) for each in marks] == [
            ("bold", 0, 5),
            ("code", 14, 5),
        ]
        assert telegram.calls("sendChatAction")
        await stage.until(lambda: stage.finished)
        telegram.say("and again")
        await stage.until(lambda: "second" in telegram.texts())
        await stage.until(lambda: telegram.pending() == 0)
        assert stage.health().last_heard_at is not None
    assert roles(tmp_path / "home") == ["user", "assistant"] * 2


async def test_a_stranger_is_let_in_by_a_code(tmp_path: Path, telegram: BotApi) -> None:
    async with telegram_stage(tmp_path, telegram.base_url, extra={"allow_from": []}) as stage:
        telegram.file("secret.bin", b"x" * 100)
        telegram.say("let me in", chat=66, document={"file_id": "secret.bin"})
        await stage.until(lambda: telegram.texts(66))
        (invitation,) = telegram.texts(66)
        code = next(word for word in invitation.split() if len(word) == 8 and word.isupper())
        assert not stage.model.requests
        assert not (stage.home / "cache").exists()  # nothing of a stranger's is fetched

        await stage.services.pairing.approve_code("telegram", code)
        telegram.say("hello now", chat=66)
        await stage.until(lambda: len(telegram.texts(66)) == 2)
        assert len(stage.model.requests) == 1


async def test_a_reply_grows_in_its_message(tmp_path: Path, telegram: BotApi) -> None:
    async with telegram_stage(tmp_path, telegram.base_url, streaming=STREAMING) as stage:
        words = " ".join(f"word{number}" for number in range(60))
        stage.model.script(text(f"**{words}**", delay=0.02))
        telegram.say("tell me much")
        await stage.until(lambda: stage.finished and telegram.texts() == [words])

        assert len(telegram.calls("sendMessage")) == 1
        edits = telegram.calls("editMessageText")
        assert len(edits) > 3
        grown = [call.fields["text"].removesuffix(" ▉").strip("*") for call in edits[:-1]]
        assert all(words.startswith(each) for each in grown)
        assert [len(each) for each in grown] == sorted(len(each) for each in grown)
        assert "▉" not in edits[-1].fields["text"]
        assert json.loads(edits[-1].fields["entities"])[0]["type"] == "bold"


@pytest.mark.parametrize("streaming", [{}, STREAMING])
async def test_a_long_reply_comes_in_several_messages(
    tmp_path: Path, telegram: BotApi, streaming: dict[str, object]
) -> None:
    code = "\n".join(f"line {number} 😀 = {number * number}" for number in range(600))
    reply = f"Look here:\n\n```python\n{code}\n```\n\nThat was *all*."
    assert len(reply) > 10_000
    async with telegram_stage(tmp_path, telegram.base_url, streaming=streaming) as stage:
        stage.model.script(text(reply))
        telegram.say("write code")
        await stage.until(
            lambda: (
                stage.finished
                and telegram.texts()[-1:]
                and telegram.texts()[-1].endswith("That was all.")
            )
        )
        parts = telegram.texts()
        assert all(units(part) <= 4096 for part in parts)
        assert "\n".join(parts).count("😀") == 600
        whole = "\n".join(parts)
        assert [line for line in whole.split("\n") if line.startswith("line")] == code.split("\n")


async def test_a_new_message_interrupts_the_reply(tmp_path: Path, telegram: BotApi) -> None:
    async with telegram_stage(tmp_path, telegram.base_url, streaming=STREAMING) as stage:
        stage.model.script(hang("This takes a very long time to say "), text("short answer"))
        telegram.say("long question")
        await stage.until(lambda: any("▉" in each for each in telegram.texts()))
        telegram.say("never mind, a short one")
        await stage.until(lambda: "short answer" in telegram.texts())
        await stage.until(lambda: not any("▉" in each for each in telegram.texts()))
        assert telegram.texts()[0].endswith("…")  # it says that it was not said to its end


async def test_a_picture_comes_in(tmp_path: Path, telegram: BotApi) -> None:
    async with telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.file("picture-1", PICTURE)
        size = {"file_id": "picture-1", "file_unique_id": "u", "width": 9, "height": 9}
        telegram.say("", caption="what is this?", photo=[size])
        await stage.until(telegram.texts)
        prompt = stage.model.requests[0].messages[-1]["content"]
        assert prompt.startswith("what is this?\n[A picture came with this message: ")
        assert "You cannot see it." in prompt
        (saved,) = (stage.home / "cache" / "images").iterdir()
        assert saved.read_bytes() == PICTURE
        assert str(saved) in prompt


async def test_messages_wait_for_us_at_the_server(tmp_path: Path, telegram: BotApi) -> None:
    telegram.say("written while you were away")
    telegram.say("this, too", chat=66, user=42)
    async with telegram_stage(tmp_path, telegram.base_url) as stage:
        await stage.until(lambda: telegram.texts() and telegram.texts(66))
        await stage.until(lambda: telegram.pending() == 0)


async def test_a_server_that_restarts_is_found_again(tmp_path: Path, telegram: BotApi) -> None:
    async with telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.say("before")
        await stage.until(telegram.texts)
        telegram.kill()
        await stage.until(lambda: stage.health().state != "connected")
        assert stage.health().state in {"retrying", "connecting"}
        telegram.start()
        await stage.connected()
        telegram.say("after")
        await stage.until(telegram.texts)
        assert len(stage.model.requests) == 2


async def test_a_cut_connection_is_noticed_and_nothing_is_lost(
    tmp_path: Path, telegram: BotApi
) -> None:
    async with relay(telegram.port) as cable:
        url = f"http://127.0.0.1:{cable.port}/bot"
        async with telegram_stage(tmp_path, url, extra={"expected_silence_s": 3}) as stage:
            telegram.say("before")
            await stage.until(telegram.texts)
            await asyncio.sleep(0.3)  # so that its receipt is not cut off, too
            cable.forwards = False
            telegram.say("said into the dark")
            await stage.until(lambda: stage.health().state != "connected")
            cable.forwards = True
            cable.drop()
            await stage.connected()
            await stage.until(lambda: len(telegram.texts()) == 2)
            await asyncio.sleep(0.2)
            assert len(telegram.texts()) == 2
            assert len(stage.model.requests) == 2


async def test_another_poller_is_named(tmp_path: Path, telegram: BotApi) -> None:
    async def hold(stop: asyncio.Event) -> None:
        import httpx

        async with httpx.AsyncClient(timeout=60) as client:
            while not stop.is_set():
                await client.post(f"{telegram.base_url}{TOKEN}/getUpdates", data={"timeout": 50})

    stop = asyncio.Event()
    other = asyncio.create_task(hold(stop))
    await asyncio.sleep(0.3)
    try:
        async with telegram_stage(tmp_path, telegram.base_url, start=False) as stage:
            await stage.services.gateway.start()
            await stage.until(lambda: stage.health().state == "retrying")
            assert "Another program fetches the messages of this bot" in stage.health().detail
            await stage.until(lambda: stage.health().state == "fatal")
    finally:
        stop.set()
        other.cancel()
        await asyncio.wait({other})


async def test_it_is_connected_anew_when_somebody_wants_it(
    tmp_path: Path, telegram: BotApi
) -> None:
    async with telegram_stage(tmp_path, telegram.base_url) as stage:
        for number in range(3):
            telegram.say(f"number {number}")
            await stage.services.gateway.reconnect("telegram")
            await stage.until(
                lambda number=number: f"You said: number {number}" in telegram.texts()
            )
        assert len(stage.model.requests) == 3
