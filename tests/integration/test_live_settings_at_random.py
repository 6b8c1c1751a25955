"""Settings changed in every way at once while two platforms talk: nothing is lost or said twice."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
import yaml

from hermes_desktop.gateway.delivery.delivery import MAYBE_TWICE
from hermes_desktop.services.settings.settings_repository import Change
from tests.fakes.live_stage import FIRST, SECOND, VARIABLE, LiveStage, live_stage

ROUNDS, MESSAGES = 30, 25


class Changes:
    """Ways in which settings of one platform, or of the gateway, become others."""

    def __init__(self, stage: LiveStage, chance: random.Random) -> None:
        self._stage, self._chance = stage, chance

    def any(self) -> Callable[[], Awaitable[object]]:
        return self._chance.choice(
            [self.token, self.switch, self.limits, self.edit, self.edit_token, self.pause]
        )

    async def token(self) -> object:
        return await self._stage.settings.apply(
            [], {VARIABLE: self._chance.choice([FIRST, SECOND])}
        )

    async def switch(self) -> object:
        return await self.set("platforms.telegram.enabled", self._chance.random() < 0.5)

    async def limits(self) -> object:
        return await self.set("agent.max_turns", self._chance.randint(5, 90))

    async def set(self, key: str, value: object) -> object:
        return await self._stage.settings.apply([Change(key, value)])

    async def edit(self) -> None:
        self._stage.edit(session_store_max_age_days=self._chance.randint(5, 90))

    async def edit_token(self) -> None:
        data = yaml.safe_load(self._stage.host.paths.config_yaml.read_text())
        data["platforms"]["telegram"]["token"] = self._chance.choice([FIRST, SECOND])
        self._stage.edit(platforms=data["platforms"])

    async def pause(self) -> None:
        host = self._stage.host.host
        if any(each.name == "telegram" for each in host.status.platforms):
            await host.pause("telegram")
            await host.resume("telegram")


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(3))
async def test_everybody_is_answered_once(tmp_path: Path, seed: int) -> None:
    async with live_stage(tmp_path) as stage:
        await talk_while_settings_change(stage, random.Random(seed))


async def talk_while_settings_change(stage: LiveStage, chance: random.Random) -> None:
    changes = Changes(stage, chance)

    async def talk() -> None:
        for number in range(MESSAGES):
            for chat in (stage.telegram, stage.discord):
                chat.say(f"number {number}", chat=f"c{number}")
            await asyncio.sleep(chance.uniform(0.0, 0.15))

    talking = asyncio.ensure_future(talk())
    for _ in range(ROUNDS):
        await changes.any()()
        await asyncio.sleep(chance.uniform(0.0, 0.1))
    await talking
    await changes.set("platforms.telegram.enabled", value=True)
    expected = sorted(f"You said: number {number}" for number in range(MESSAGES))
    for chat in (stage.discord, stage.telegram):
        await stage.host.until(lambda chat=chat: _without_mark(chat.texts()) >= set(expected))
    assert sorted(stage.discord.texts()) == expected
    # What was cut off while it was sent comes once more and says so; nothing else comes twice.
    texts = stage.telegram.texts()
    unmarked = [each for each in texts if not each.startswith(MAYBE_TWICE)]
    assert _without_mark(texts) == set(expected)
    assert len(unmarked) == len(set(unmarked))
    assert stage.discord.logins == 1
    assert stage.telegram.most_bots == 1


def _without_mark(texts: Sequence[str]) -> set[str]:
    return {each.removeprefix(MAYBE_TWICE) for each in texts}
