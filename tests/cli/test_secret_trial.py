"""``secrets set`` lets Telegram look at a token first: one that it does not take is not kept."""

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from tests.fakes.bot_api_emulator import TOKEN
from tests.fakes.program import Outcome, Program
from tests.fakes.telegram_server import telegram_server

NAME = "TELEGRAM_BOT_TOKEN"
OTHER = "654321:BBEmulatedTokenOfABotThatIsNone54321"


def keep(program: Program, value: str, *more: str) -> Outcome:
    return program.run("secrets", "set", NAME, "--plain", *more, stdin=f"{value}\n".encode())


def kept_end(program: Program) -> list[str]:
    done = program.run("secrets", "list", "--json", "--show-end")
    return [end for each in json.loads(done.out) for end in each["ends"]]


@pytest.mark.asyncio
async def test_only_what_telegram_takes_is_kept(program: Program, home: Path) -> None:
    async with telegram_server() as telegram:
        config = {"platforms": {"telegram": {"extra": {"base_url": telegram.base_url}}}}
        home.joinpath("config.yaml").write_text(yaml.safe_dump(config))
        done = await asyncio.to_thread(keep, program, TOKEN)
        assert (done.code, done.out) == (
            0,
            f"{NAME} is stored in a plain file that only you can read.\n",
        )
        assert "Telegram accepts it: @our_bot." in done.err
        refused = await asyncio.to_thread(keep, program, OTHER)
        assert refused.code == 5
        assert "Telegram does not accept this token." in refused.err
        assert "Unauthorized" in refused.err
        assert "the previous one stays in use" in refused.err
        assert kept_end(program) == [TOKEN[-4:]]
        asked = len(telegram.calls)
    # Whom nobody can ask refuses nothing, and whoever does not want it asked is not.
    unasked = await asyncio.to_thread(keep, program, OTHER)
    assert (unasked.code, "Telegram could not be reached." in unasked.err) == (0, True)
    unchecked = await asyncio.to_thread(keep, program, TOKEN, "--no-check")
    assert (unchecked.code, "Checking it with" in unchecked.err) == (0, False)
    assert kept_end(program) == [TOKEN[-4:]]
    assert asked
    for each in (done, refused, unasked):
        assert TOKEN not in each.out + each.err
        assert OTHER not in each.out + each.err
