"""``hermes config set`` while our gateway runs: it counts with the next message."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hermes_desktop.core.events import SettingsChanged
from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.keyring import FakeKeyring
from tests.interop.conftest import RealHermes


class Both:
    """Our gateway, and the command line of the real program on its home."""

    def __init__(self, host: HostStage, python: Path) -> None:
        self.host = host
        self._hermes = RealHermes(python, host.home)
        self.keys: list[str] = []
        host.services.bus.subscribe(SettingsChanged, self._note)

    def _note(self, news: SettingsChanged) -> None:
        self.keys += [change.key for change in news.changes]

    async def hermes(self, *words: str) -> str:
        return await asyncio.to_thread(self._hermes.command, *words)

    @property
    def config(self) -> Any:
        hosted = self.host.host._hosted
        assert hosted is not None
        return hosted.runner.config


@pytest_asyncio.fixture
async def both(tmp_path: Path, hermes_python: Path) -> AsyncIterator[Both]:
    async with host_stage(tmp_path, keyring=FakeKeyring()) as host:
        await host.host.start()
        await host.reach("running")
        yield Both(host, hermes_python)


@pytest.mark.asyncio
async def test_what_hermes_config_set_says_counts_while_the_gateway_runs(both: Both) -> None:
    await both.hermes("config", "set", "agent.max_turns", "11")
    await both.hermes("config", "set", "session_reset.mode", "idle")
    await both.host.until(lambda: both.config.default_reset_policy.mode == "idle")
    assert both.config.running.max_iterations == 11
    assert (both.host.chat.logins, both.host.host.state) == (1, "running")
    assert "agent.max_turns" in both.keys


@pytest.mark.asyncio
async def test_a_token_that_hermes_puts_into_env_is_used(both: Both) -> None:
    await both.hermes("config", "set", "TELEGRAM_BOT_TOKEN", "987654321:from-hermes")
    await both.host.until(lambda: both.host.chat.logins == 2)
    assert both.host.chat.tokens[-1] == "987654321:from-hermes"
    assert both.keys == ["TELEGRAM_BOT_TOKEN"]
    both.host.chat.say("hello")
    await both.host.until(lambda: both.host.chat.texts() == ["You said: hello"])


@pytest.mark.asyncio
async def test_a_platform_that_hermes_switches_off_is_left(both: Both) -> None:
    await both.hermes("config", "set", "platforms.telegram.enabled", "false")
    await both.host.until(lambda: both.host.chat.look()["bots"] == 0)
    await both.hermes("config", "set", "platforms.telegram.enabled", "true")
    await both.host.until(lambda: both.host.chat.look()["bots"] == 1)
