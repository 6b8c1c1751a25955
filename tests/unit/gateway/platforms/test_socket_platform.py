"""The chat service that other tests stand on, and its adapter."""

import asyncio

import pytest

from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.platforms.registry import AdapterContext, AdapterRegistry
from tests.fakes.clock import MovableClock
from tests.fakes.socket_platform import (
    ChatServer,
    SocketPlatform,
    chat_process,
    chat_server,
    make_socket_platform,
    socket_config,
    socket_registry,
)
from tests.support.waiting import until


def adapter_of(chat_port: int, **extra: object) -> SocketPlatform:
    context = AdapterContext(Platform.TELEGRAM, clock=MovableClock())
    return make_socket_platform(socket_config(chat_port, **extra), context)


class Taker:
    """Takes messages; one whose text is "never" is never dealt with."""

    def __init__(self) -> None:
        self.events: list[MessageEvent] = []
        self.tasks: list[asyncio.Task[str | None]] = []

    def __call__(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        self.events.append(event)
        task = asyncio.create_task(self._deal(event))
        self.tasks.append(task)
        return task

    async def _deal(self, event: MessageEvent) -> str | None:
        if event.text == "never":
            await asyncio.Event().wait()
        return None

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks)


@pytest.mark.asyncio
async def test_messages_both_ways() -> None:
    async with chat_server() as chat:
        adapter, taker = adapter_of(chat.port), Taker()
        adapter.set_message_handler(taker)
        assert await adapter.connect()
        assert adapter.last_heard is not None
        chat.say("hello", chat="room", user="ann", thread="7")
        await until(lambda: chat.acked == ["m1"])
        source = taker.events[0].source
        assert source is not None
        assert (source.chat_id, source.user_id, source.thread_id) == ("room", "ann", "7")
        assert (await adapter.send("room", "hi", reply_to="m1")).message_id == "s1"
        assert chat.texts("room") == ["hi"]
        assert await adapter.probe()
        await adapter.disconnect()
        await adapter.disconnect()


@pytest.mark.asyncio
async def test_what_was_not_dealt_with_is_brought_again() -> None:
    async with chat_server() as chat:
        first, taker = adapter_of(chat.port), Taker()
        first.set_message_handler(taker)
        await first.connect()
        chat.say("never")
        await until(lambda: len(taker.events) == 1)
        await first.disconnect()
        await taker.close()
        chat.set(twice=True)
        chat.say("later")
        second, taker = adapter_of(chat.port), Taker()
        second.set_message_handler(taker)
        await second.connect()
        await until(lambda: len(taker.events) == 4)
        assert [event.message_id for event in taker.events] == ["m1", "m1", "m2", "m2"]
        await until(lambda: chat.acked == ["m2"])
        await second.disconnect()
        await taker.close()


@pytest.mark.asyncio
async def test_faults() -> None:
    async with chat_server() as chat:
        adapter = adapter_of(chat.port, expected_silence_s=0.05, send_timeout_s=0.05)
        chat.set(refuse_login="bad_token")
        assert not await adapter.connect()
        assert adapter.fatal_error is not None
        assert not adapter.fatal_error.retryable
        chat.set(refuse_login="")
        assert await adapter.connect()
        await _sending_fails(adapter, chat)
        chat.set(silent=True)
        assert not await adapter.probe()
        chat.set(silent=False)
        fatal: list[str] = []
        adapter.set_fatal_error_handler(
            lambda each: fatal.append(each.fatal_error.code if each.fatal_error else "")
        )
        chat.drop()
        await until(lambda: fatal == ["connection_lost"])
        assert (await adapter.send("c1", "x")).retryable
        await adapter.disconnect()


async def _sending_fails(adapter: SocketPlatform, chat: ChatServer) -> None:
    chat.refuse("rate_limited", retry_after=3, retryable=True)
    result = await adapter.send("c1", "x")
    assert (result.error_kind, result.retry_after, result.retryable) == ("rate_limited", 3, True)
    chat.set(lose_receipts=1)
    with pytest.raises(TimeoutError):
        await adapter.send("c1", "arrived all the same")
    assert chat.texts() == ["arrived all the same"]


@pytest.mark.asyncio
@pytest.mark.two_processes
async def test_a_service_of_its_own() -> None:
    with chat_process() as chat:
        adapter, taker = adapter_of(chat.port), Taker()
        adapter.set_message_handler(taker)
        await adapter.connect()
        assert chat.call("say", "hello") == "m1"
        await until(lambda: len(taker.events) == 1)
        await adapter.send("c1", "hi")
        assert chat.texts("c1") == ["hi"]
        await until(lambda: chat.call("look")["acked"] == ["m1"])
        await adapter.disconnect()


def test_a_registry_serves_what_it_knows() -> None:
    registry = socket_registry(Platform.DISCORD)
    assert Platform.DISCORD in registry
    made = registry.make(socket_config(1), AdapterContext(Platform.DISCORD))
    assert made.platform is Platform.DISCORD
    assert Platform.TELEGRAM not in registry
    with pytest.raises(LookupError, match="telegram"):
        registry.make(socket_config(1), AdapterContext(Platform.TELEGRAM))
    registry.register(Platform.TELEGRAM, make_socket_platform)
    assert Platform.TELEGRAM in registry
    assert Platform.TELEGRAM not in AdapterRegistry()
