"""Settings of a platform, tried before they are stored: a real service on a socket answers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.identity.token_locks import TokenLocks
from hermes_desktop.gateway.platforms.base import TokenIdentity
from hermes_desktop.services.settings.platform_checks import PlatformChecker
from hermes_desktop.services.settings.settings_repository import Change
from hermes_desktop.services.settings.settings_service import SettingsService, build_settings
from hermes_desktop.settings.options import InvalidValueError
from tests.fakes.clock import MovableClock
from tests.fakes.identity import gateway_lookalike
from tests.fakes.socket_platform import ChatServer, chat_server, socket_registry

TOKEN = "TELEGRAM_BOT_TOKEN"


class Stage:
    """A home whose Telegram is the chat service."""

    def __init__(self, home: Path, chat: ChatServer, *, checked: bool) -> None:
        self.paths, self.chat, self.clock = HermesPaths(home, home), chat, MovableClock()
        self.worker = WorkerThreads("gateway-host")
        self.redactor = SecretRedactor()
        self.locks_folder = home / "locks"
        self.used: TokenIdentity | None = None
        checker = PlatformChecker(
            self.paths,
            {},
            socket_registry(checked=checked),
            in_use=self.in_use,
            locks=TokenLocks(self.locks_folder, self.clock),
            worker=self.worker,
            clock=self.clock,
            redactor=self.redactor,
        )
        self.settings: SettingsService = build_settings(
            self.paths, {}, self.clock, None, EventBus(), checker
        )
        self.paths.config_yaml.write_text(
            "platforms:\n  telegram:\n    enabled: true\n    token: 111:stored\n"
            f"    extra:\n      port: {chat.port}\n"
        )

    def in_use(self, platform: Platform, token: TokenIdentity | None) -> PlatformHealth | None:
        return PlatformHealth(platform.value, "connected") if token == self.used else None


@pytest_asyncio.fixture(params=[True, False], ids=["asked", "connected"])
async def stage(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with chat_server() as chat:
        stage = Stage(tmp_path, chat, checked=request.param)
        yield stage
        stage.settings.close()
        stage.worker.close()


@pytest.mark.asyncio
async def test_a_token_is_tried_over_the_stored_one_and_not_stored(stage: Stage) -> None:
    before = stage.paths.config_yaml.read_text()
    assert (await stage.settings.check_platform("telegram")).kind == "ok"
    answer = await stage.settings.check_platform("telegram", {TOKEN: "222:given"})
    assert answer.kind == "ok"
    assert [*stage.chat.asked, *stage.chat.tokens] == ["111:stored", "222:given"]
    assert stage.paths.config_yaml.read_text() == before
    assert not stage.paths.desktop_dir.exists()
    assert "222:given" not in stage.redactor.clean("GET /bot222:given/getMe")


@pytest.mark.asyncio
async def test_refused_and_unreachable_are_told_apart(stage: Stage) -> None:
    stage.chat.set(bad_token="222:given")
    refused = await stage.settings.check_platform("telegram", {TOKEN: "222:given"})
    assert (refused.kind, refused.words) == ("refused", "The service said bad_token.")
    stage.chat.set(refuse_login="rate_limited")
    assert (await stage.settings.check_platform("telegram")).kind == "unreachable"
    await stage.chat.stop()
    assert (await stage.settings.check_platform("telegram")).kind == "unreachable"


@pytest.mark.asyncio
async def test_what_is_missing_is_said_without_asking(stage: Stage) -> None:
    stage.paths.config_yaml.write_text("platforms:\n  telegram:\n    enabled: true\n")
    answer = await stage.settings.check_platform("telegram")
    assert (answer.kind, answer.words) == (
        "misconfigured",
        "Its credentials are missing.",
    )
    with pytest.raises(RefusedError):
        await stage.settings.check_platform("discord")
    change = Change("platforms.telegram.enabled", "perhaps")
    with pytest.raises(InvalidValueError):
        await stage.settings.check_platform("telegram", changes=[change])


@pytest.mark.asyncio
async def test_it_can_be_given_up(stage: Stage) -> None:
    stage.chat.set(hang_login=True)
    asking = asyncio.ensure_future(stage.settings.check_platform("telegram"))
    await asyncio.sleep(0.2)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.asyncio
async def test_connecting_disturbs_neither_our_connection_nor_a_foreign_one(
    tmp_path: Path,
) -> None:
    async with chat_server() as chat:
        stage = Stage(tmp_path, chat, checked=False)
        chat.say("waits")
        stage.used = TokenIdentity("socket-bot-token", "111:stored")
        assert (await stage.settings.check_platform("telegram")).kind == "ok"
        assert chat.logins == 0
        stage.used = None
        with gateway_lookalike() as other:
            foreign = TokenLocks(stage.locks_folder)
            foreign.acquire("socket-bot-token", "111:stored", "telegram", other)
            assert (await stage.settings.check_platform("telegram")).kind == "unreachable"
            assert chat.logins == 0
        assert (await stage.settings.check_platform("telegram")).kind == "ok"
        assert chat.logins == 1
        assert list(chat.pending)  # it was brought, and not taken
        stage.settings.close()
        stage.worker.close()
