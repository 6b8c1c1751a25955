"""One conversation on Telegram through all that may happen to it, as the real program lists it.

The other side is an independent emulator of the Bot API, behind a cable that can be cut.
"""

import asyncio
import json
from pathlib import Path

import pytest

from hermes_desktop.gateway.platforms.telegram.formatted import units
from tests.fakes.bot_api_emulator import BotApi, bot_api
from tests.fakes.model_server import hang, text
from tests.fakes.tcp_relay import Relay, relay
from tests.fakes.telegram_stage import TelegramStage, telegram_stage
from tests.interop.conftest import RealHermes

pytestmark = [pytest.mark.asyncio, pytest.mark.two_processes, pytest.mark.timeout(300)]

STREAMING = {"enabled": True, "edit_interval": 0.1, "buffer_threshold": 4}
WHO = 66
WORDS = " ".join(f"word{number}" for number in range(40))
LONG = "\n".join(f"line {number} 😀 of **many**" for number in range(450)) + "\nthe end"


class Talk:
    """A person, the bot, and what stands between them."""

    def __init__(self, stage: TelegramStage, telegram: BotApi, cable: Relay) -> None:
        self.stage, self.telegram, self.cable = stage, telegram, cable

    def texts(self) -> list[str]:
        return self.telegram.texts(WHO)

    async def until_said(self, words: str) -> None:
        await self.stage.until(lambda: any(words in each for each in self.texts()))
        await self.stage.until(lambda: self.stage.services.gateway.look().running_turns == 0)

    async def says(self, words: str, answer: str) -> None:
        self.stage.model.script(text(answer, delay=0.02 if len(answer) < len(LONG) else 0.001))
        self.telegram.say(words, chat=WHO)
        await self.until_said(answer.rpartition("\n")[2])

    async def is_let_in(self) -> None:
        self.telegram.say("Let me in.", chat=WHO)
        await self.stage.until(self.texts)
        code = next(word for word in self.texts()[0].split() if len(word) == 8 and word.isupper())
        await self.stage.services.pairing.approve_code("telegram", code)

    async def hears_it_grow(self) -> None:
        await self.says("My name is Quentin.", WORDS)
        assert len(self.telegram.calls("editMessageText")) > 3
        assert "▉" not in "".join(self.texts())

    async def interrupts(self) -> None:
        self.stage.model.script(hang("A very long "), text("A short one."))
        self.telegram.say("A long story, please.", chat=WHO)
        await self.stage.until(lambda: any("▉" in each for each in self.texts()))
        self.telegram.say("No, a short one.", chat=WHO)
        await self.until_said("A short one.")

    async def hears_much(self) -> None:
        assert len(LONG) > 10_000
        await self.says("All of it.", LONG)
        assert "\n".join(self.texts()).count("😀") == 450
        assert all(units(each) <= 4096 for each in self.texts())

    async def sends_a_picture(self) -> None:
        self.telegram.file("picture", b"not much of a picture")
        size = {"file_id": "picture", "file_unique_id": "u", "width": 9, "height": 9}
        self.stage.model.script(text("A picture it is."))
        self.telegram.say("", chat=WHO, caption="What is this?", photo=[size])
        await self.until_said("A picture it is.")

    async def loses_the_server(self) -> None:
        self.telegram.kill()
        await self.stage.until(lambda: self.stage.health().state != "connected")
        self.telegram.start()
        await self.stage.connected()
        await self.says("Are you back?", "Back again.")

    async def loses_the_cable(self) -> None:
        await asyncio.sleep(0.3)  # so that the receipt of the last message is not cut off, too
        self.cable.forwards = False
        self.stage.model.script(text("I heard it late."))
        self.telegram.say("Said into the dark.", chat=WHO)
        await self.stage.until(lambda: self.stage.health().state != "connected")
        self.cable.forwards = True
        self.cable.drop()
        await self.stage.connected()
        await self.until_said("I heard it late.")


async def test_it_is_one_session(hermes_python: Path, tmp_path: Path) -> None:
    with bot_api() as telegram:
        async with relay(telegram.port) as cable:
            url = f"http://127.0.0.1:{cable.port}/bot"
            extra = {"expected_silence_s": 3, "allow_from": []}
            async with telegram_stage(tmp_path, url, streaming=STREAMING, extra=extra) as stage:
                talk = Talk(stage, telegram, cable)
                await talk.is_let_in()
                await talk.hears_it_grow()
                await talk.interrupts()
                await talk.hears_much()
                await talk.sends_a_picture()
                await talk.loses_the_server()
                await talk.loses_the_cable()
                said = json.dumps(stage.model.requests[-1].messages)
                assert all(each in said for each in ("Quentin", "What is this?", "into the dark"))
                await stage.until(lambda: telegram.pending() == 0)
            assert not any("▉" in each for each in telegram.texts(WHO))
    hermes = RealHermes(hermes_python, tmp_path / "home")
    listed = hermes.command("sessions", "list", "--source", "telegram")
    rows = [line for line in listed.splitlines() if "telegram" in line or "Quentin" in line]
    assert len(rows) == 1, listed
