"""A supervisor over real sockets: what a half-open connection, a drop and a silent server do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.delivery.sending import send_once
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.platforms.platform_supervisor import (
    PlatformSupervisor,
    SupervisorWiring,
)
from hermes_desktop.gateway.platforms.reconnect import LinkTiming
from tests.fakes.socket_platform import ChatServer, chat_server, socket_config, socket_registry
from tests.support.waiting import until

TIMING = LinkTiming(
    connect_s=0.5,
    disconnect_s=1.0,
    probe_s=0.3,
    first_pause_s=0.02,
    longest_pause_s=0.1,
    quick_again_s=0.0,
)


class Echo:
    """Answers each message once, whatever is brought again."""

    def __init__(self) -> None:
        self.adapters: dict[Platform, PlatformAdapter] = {}
        self.answered: set[str] = set()

    def take(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        return asyncio.create_task(self._answer(event))

    async def _answer(self, event: MessageEvent) -> str | None:
        source = event.source
        assert source is not None
        assert event.message_id is not None
        if event.message_id not in self.answered:
            self.answered.add(event.message_id)
            while True:
                adapter = self.adapters.get(source.platform)
                text = f"echo {event.text}"
                if adapter and (await send_once(adapter, source.chat_id, text)).success:
                    return event.text
                await asyncio.sleep(0.01)
        return None


@contextlib.asynccontextmanager
async def supervised(*chats: ChatServer) -> AsyncIterator[tuple[PlatformSupervisor, Echo]]:
    platforms = (Platform.TELEGRAM, Platform.DISCORD)[: len(chats)]
    config = GatewayConfig(
        platforms={
            platform: socket_config(chat.port, expected_silence_s=0.5)
            for platform, chat in zip(platforms, chats, strict=True)
        }
    )
    echo = Echo()
    supervisor = PlatformSupervisor(
        config,
        socket_registry(*platforms),
        echo.adapters,
        SupervisorWiring(wire=lambda adapter: adapter.set_message_handler(echo.take)),
        timing=TIMING,
    )
    await supervisor.start()
    try:
        yield supervisor, echo
    finally:
        await supervisor.stop()


def state(supervisor: PlatformSupervisor, name: str = "telegram") -> str:
    return {each.name: each.state for each in supervisor.health()}[name]


@pytest.mark.asyncio
async def test_a_server_that_says_nothing_is_not_called_connected() -> None:
    async with chat_server() as chat, supervised(chat) as (supervisor, _):
        assert state(supervisor) == "connected"
        chat.set(silent=True)
        seen: set[str] = set()

        def silent_then_retrying() -> bool:
            seen.add(state(supervisor))
            return {"silent", "retrying"} <= seen

        await until(silent_then_retrying)
        chat.say("while you were away")
        chat.set(silent=False)
        await until(lambda: chat.texts() == ["echo while you were away"])
        await until(lambda: state(supervisor) == "connected")
        assert chat.most_bots == 1


@pytest.mark.asyncio
async def test_dropped_connections_lose_nothing() -> None:
    async with chat_server() as chat, supervised(chat) as (supervisor, _):
        for number in range(5):
            chat.say(str(number))
            chat.drop()
            await until(lambda n=number: f"echo {n}" in chat.texts())  # type: ignore[misc]
        await until(lambda: len(chat.acked) == 5)
        await until(lambda: state(supervisor) == "connected")


@pytest.mark.asyncio
async def test_one_server_that_refuses_leaves_the_other_alone() -> None:
    async with chat_server() as first, chat_server() as second:
        first.set(refuse_login="bad_token")
        async with supervised(first, second) as (supervisor, _):
            assert state(supervisor) == "fatal"
            assert state(supervisor, "discord") == "connected"
            second.say("hello")
            await until(lambda: second.texts() == ["echo hello"])
            first.set(refuse_login="")
            await supervisor.reconnect(Platform.TELEGRAM)
            await until(lambda: state(supervisor) == "connected")


@pytest.mark.asyncio
async def test_a_login_that_hangs_is_given_up_and_tried_again() -> None:
    async with chat_server() as chat:
        chat.set(hang_login=True)
        async with supervised(chat) as (supervisor, _):
            assert state(supervisor) in {"retrying", "connecting"}
            chat.set(hang_login=False)
            await until(lambda: state(supervisor) == "connected")


@pytest.mark.asyncio
async def test_a_server_that_goes_and_comes_back() -> None:
    async with chat_server() as chat, supervised(chat) as (supervisor, _):
        port = chat.port
        await chat.stop()
        await until(lambda: state(supervisor) == "retrying")
        await chat.start(port)
        chat.say("back again")
        await until(lambda: chat.texts() == ["echo back again"])
        await until(lambda: state(supervisor) == "connected")
