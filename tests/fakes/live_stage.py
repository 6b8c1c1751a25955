"""A hosted gateway with two platforms and a keyring, whose settings change while it runs."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import yaml

from hermes_desktop.core.events import Notice, SettingsChanged
from hermes_desktop.gateway.config.gateway_config import Platform
from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.keyring import FakeKeyring
from tests.fakes.model_server import Recorded, Reply, echo, text
from tests.fakes.socket_platform import ChatServer, chat_server

VARIABLE = "TELEGRAM_BOT_TOKEN"
FIRST, SECOND, DISCORD = "123:first-token", "987:second-token", "555:discord-token"


class LiveStage:
    """A hosted gateway with two platforms, each with a chat service of its own."""

    def __init__(self, host: HostStage, keyring: FakeKeyring, second: ChatServer) -> None:
        self.host, self.keyring = host, keyring
        self.telegram, self.discord = host.chat, second
        self.news: list[SettingsChanged] = []
        host.services.bus.subscribe(SettingsChanged, self.news.append)
        host.model.responder = _slow_or_echo

    @property
    def settings(self) -> Any:
        return self.host.services.settings

    @property
    def runner(self) -> Any:
        hosted = self.host.host._hosted
        assert hosted is not None
        return hosted.runner

    def edit(self, **groups: Any) -> None:
        """Rewrite config.yaml as an editor would."""
        file = self.host.paths.config_yaml
        data = yaml.safe_load(file.read_text())
        file.write_text(yaml.safe_dump({**data, **groups}))

    def keys(self) -> list[str]:
        return [change.key for news in self.news for change in news.changes]

    def titles(self) -> list[str]:
        return [each.title if isinstance(each, Notice) else "" for each in self.host.notices]

    async def talk(self, chat: ChatServer, words: str) -> str:
        """Send a message and wait for the answer."""
        before = len(chat.sent)
        chat.say(words)
        await self.host.until(lambda: len(chat.sent) > before)
        await self.host.until(lambda: self.host.host.status.running_turns == 0)
        return chat.sent[-1].text

    async def begin_long_turn(self, chat: ChatServer) -> None:
        chat.say("something slow")
        await self.host.until(lambda: self.host.host.status.running_turns == 1)


def _slow_or_echo(request: Recorded) -> Reply:
    if "slow" in str(request.messages[-1]["content"]):
        first, *rest = text("It took a while.").steps
        return Reply([first, 1.2, *rest])
    return echo(request)


def _prepare(home: Path, discord: int) -> None:
    data = yaml.safe_load((home / "config.yaml").read_text())
    telegram = data["platforms"]["telegram"]
    telegram["token"] = FIRST
    data["platforms"]["discord"] = {
        "enabled": True,
        "token": DISCORD,
        "extra": {**telegram["extra"], "port": discord},
    }
    (home / "config.yaml").write_text(yaml.safe_dump(data))


@contextlib.asynccontextmanager
async def live_stage(folder: Path) -> AsyncIterator[LiveStage]:
    """Run the gateway, with its window visible."""
    keyring = FakeKeyring()
    async with (
        chat_server() as second,
        host_stage(
            folder,
            platforms=(Platform.TELEGRAM, Platform.DISCORD),
            prepare=lambda home: _prepare(home, second.port),
            keyring=keyring,
        ) as host,
    ):
        await host.host.start()
        await host.reach("running")
        host.services.watch.set_visible(visible=True)
        yield LiveStage(host, keyring, second)
