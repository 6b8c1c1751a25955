"""Several people write on Telegram while the line breaks again and again: nothing gets lost."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.fakes.bot_api_emulator import BotApi, bot_api
from tests.fakes.tcp_relay import Relay, relay
from tests.fakes.telegram_stage import telegram_stage

pytestmark = [pytest.mark.asyncio, pytest.mark.two_processes, pytest.mark.slow]

CHATS = (101, 102, 103, 104)
MESSAGES = 6
AGAIN = "♻️"


async def talk(telegram: BotApi, chat: int, chance: random.Random) -> None:
    """One person: writes, waits for the answer, writes again."""
    for number in range(MESSAGES):
        words = f"question {chat}-{number}."
        await asyncio.to_thread(telegram.say, words, chat)
        async with asyncio.timeout(60):
            while not any(
                words in each and "▉" not in each
                for each in await asyncio.to_thread(telegram.texts, chat)
            ):
                await asyncio.sleep(0.05)
        await asyncio.sleep(chance.random() * 0.5)


async def break_again_and_again(cable: Relay, chance: random.Random) -> None:
    while True:
        await asyncio.sleep(0.5 + chance.random() * 1.5)
        if chance.random() < 0.3:  # carries nothing for a while, and nobody is told
            cable.forwards = False
            await asyncio.sleep(chance.random() * 3)
            cable.forwards = True
        cable.drop()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("streams", [True, False])
async def test_each_message_is_answered_and_no_answer_doubled_unsaid(
    tmp_path: Path, *, streams: bool
) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    streaming = {"enabled": streams, "edit_interval": 0.1, "buffer_threshold": 4}
    extra = {"expected_silence_s": 4, "allow_from": [str(chat) for chat in CHATS]}
    with bot_api() as telegram:
        async with (
            relay(telegram.port) as cable,
            telegram_stage(
                tmp_path, f"http://127.0.0.1:{cable.port}/bot", extra=extra, streaming=streaming
            ) as stage,
        ):
            breaking = asyncio.create_task(break_again_and_again(cable, chance))
            try:
                await asyncio.gather(*(talk(telegram, chat, chance) for chat in CHATS))
            finally:
                breaking.cancel()
                cable.forwards = True
                await asyncio.wait({breaking})
            await stage.until(lambda: telegram.pending() == 0)
            assert len(stage.model.requests) == len(CHATS) * MESSAGES, f"seed {seed}"
        for chat in CHATS:
            texts = telegram.texts(chat)
            for number in range(MESSAGES):
                about = [each for each in texts if f"question {chat}-{number}." in each]
                unsaid = [each for each in about if not each.startswith(AGAIN) and "▉" not in each]
                assert about, f"seed {seed}: {texts}"
                assert len(unsaid) <= 1, f"seed {seed}: {about}"
