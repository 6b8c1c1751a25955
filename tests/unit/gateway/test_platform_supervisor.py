"""Platforms are connected, watched, left and connected again, and never hurt each other."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.core.events import Notice, PlatformHealth
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.gateway.identity.token_locks import TokenOwner
from hermes_desktop.gateway.platforms.base import (
    MessageEvent,
    PlatformAdapter,
    SendResult,
    TokenIdentity,
)
from hermes_desktop.gateway.platforms.machine_watch import NetworkWatch, SleepWatch
from hermes_desktop.gateway.platforms.platform_supervisor import (
    PlatformSupervisor,
    SupervisorWiring,
)
from hermes_desktop.gateway.platforms.reconnect import LinkTiming
from hermes_desktop.gateway.platforms.registry import AdapterContext, AdapterRegistry
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord
from tests.fakes.clock import MovableClock
from tests.support.waiting import until

TELEGRAM, DISCORD, SLACK = Platform.TELEGRAM, Platform.DISCORD, Platform.SLACK
QUICK = LinkTiming(connect_s=0.05, disconnect_s=0.05, probe_s=0.05)


class Scripted(PlatformAdapter):
    """Does at its n-th connection what the world says."""

    def __init__(self, platform: Platform, world: "World") -> None:
        super().__init__(platform, clock=world.clock)
        self.world = world
        self.left = 0
        self.token = world.token

    async def connect(self, *, is_reconnect: bool = False) -> bool:
        self.world.attempts.append((self.platform.value, is_reconnect))
        answer = self.world.answer(self.platform)
        if answer == "hang":
            await asyncio.Event().wait()
        if answer == "deaf":
            await self.world.deaf()
        if isinstance(answer, Exception):
            raise answer
        if answer == "bad token":
            self.set_fatal_error("bad_token", "The token is wrong.", retryable=False)
            return False
        if answer == "no":
            return False
        if answer != "mute":
            self.heard()
        return True

    async def disconnect(self) -> None:
        self.left += 1
        if self.world.hangs_at_leaving:
            await self.world.deaf()

    async def send(
        self, chat_id: str, text: str, *, reply_to: str | None = None, thread_id: str | None = None
    ) -> SendResult:
        return SendResult(success=True)

    async def probe(self) -> bool:
        self.world.probes += 1
        if isinstance(self.world.alive, Exception):
            raise self.world.alive
        return self.world.alive


@dataclass
class World:
    """Platforms, their servers, and whoever watches the supervisor."""

    clock: MovableClock = field(default_factory=MovableClock)
    answers: dict[Platform, list[Any]] = field(default_factory=dict)
    attempts: list[tuple[str, bool]] = field(default_factory=list)
    made: list[Scripted] = field(default_factory=list)
    alive: bool | Exception = True
    probes: int = 0
    hangs_at_leaving: bool = False
    wakes: asyncio.Event = field(default_factory=asyncio.Event)
    token: TokenIdentity | None = None
    adapters: dict[Platform, PlatformAdapter] = field(default_factory=dict)
    connected: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    changes: int = 0
    boot: float = 0.0
    network: Path = Path("/nowhere")

    def answer(self, platform: Platform) -> Any:
        queued = self.answers.get(platform, [])
        return queued.pop(0) if queued else "yes"

    async def deaf(self) -> None:
        while not self.wakes.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.wakes.wait()

    def make(self, config: PlatformConfig, context: AdapterContext) -> PlatformAdapter:
        adapter = Scripted(context.platform, self)
        self.made.append(adapter)
        return adapter

    # What holds the home's identity

    def update(self, fields: Mapping[str, Any]) -> None:
        self.files.append(dict(fields["platforms"]))

    def release(self) -> bool:
        return True

    def change(self) -> None:
        self.changes += 1

    async def has_connected(self, platform: Platform) -> None:
        self.connected.append(platform.value)

    def boot_time(self) -> float:
        return self.clock.monotonic() + self.boot

    @contextlib.asynccontextmanager
    async def supervised(
        self,
        *platforms: Platform,
        timing: LinkTiming = QUICK,
        tokens: Any = None,
        registry: AdapterRegistry | None = None,
        **settings: Any,
    ) -> AsyncIterator[PlatformSupervisor]:
        wanted = platforms or (TELEGRAM,)
        config = GatewayConfig(
            platforms=settings.pop("configs", None)
            or dict.fromkeys(wanted, PlatformConfig(enabled=True, token="t"))
        )
        wiring = SupervisorWiring(
            wire=lambda adapter: adapter.set_message_handler(self.take),
            changed=settings.pop("changed", self.change),
            connected=self.has_connected,
            notify=self.notices.append,
            identity=self,
            tokens=tokens,
        )
        supervisor = PlatformSupervisor(
            config,
            registry or AdapterRegistry(dict.fromkeys(wanted, self.make)),
            self.adapters,
            wiring,
            home=Path("/home"),
            clock=self.clock,
            timing=timing,
            sleep_watch=SleepWatch(self.clock, boot_time=self.boot_time),
            network_watch=NetworkWatch(self.network),
        )
        await supervisor.start()
        try:
            yield supervisor
        finally:
            self.hangs_at_leaving = False
            self.wakes.set()
            await supervisor.stop()

    def take(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        raise NotImplementedError


def states(supervisor: PlatformSupervisor) -> dict[str, str]:
    return {each.name: each.state for each in supervisor.health()}


def only(supervisor: PlatformSupervisor) -> PlatformHealth:
    [health] = supervisor.health()
    return health


async def becomes(supervisor: PlatformSupervisor, state: str) -> None:
    await until(lambda: only(supervisor).state == state)


async def pass_time(world: World, supervisor: PlatformSupervisor, seconds: float) -> None:
    world.clock.advance(seconds)
    supervisor.look()
    await asyncio.sleep(0.005)


@pytest.mark.asyncio
async def test_every_platform_is_connected() -> None:
    world = World()
    async with world.supervised(TELEGRAM, DISCORD) as supervisor:
        assert states(supervisor) == {"discord": "connected", "telegram": "connected"}
        assert set(world.adapters) == {TELEGRAM, DISCORD}
        assert sorted(world.attempts) == [("discord", False), ("telegram", False)]
        await until(lambda: sorted(world.connected) == ["discord", "telegram"])
        assert only_file(world)["telegram"]["state"] == "connected"
        assert supervisor.serves(TELEGRAM)
        assert not supervisor.serves(SLACK)
        heard = supervisor.health()[0].last_heard_at
        assert heard == world.clock.time()
    assert world.adapters == {}
    assert [adapter.left for adapter in world.made] == [1, 1]
    assert world.changes > 0


def only_file(world: World) -> dict[str, Any]:
    return world.files[-1]


@pytest.mark.asyncio
async def test_what_lacks_a_package_is_not_served_and_says_so() -> None:
    world = World()
    registry = AdapterRegistry()
    registry.register(TELEGRAM, world.make, lacks=lambda: "Run: pip install it")
    configs = {TELEGRAM: PlatformConfig(enabled=True, token="t")}
    async with world.supervised(configs=configs, registry=registry) as supervisor:
        assert states(supervisor) == {"telegram": "unavailable"}
        assert supervisor.health()[0].detail == "Run: pip install it"
        assert world.made == []


@pytest.mark.asyncio
async def test_what_cannot_be_served_is_said() -> None:
    world = World()
    configs = {
        TELEGRAM: PlatformConfig(enabled=True, token="t"),
        DISCORD: PlatformConfig(enabled=True),
        SLACK: PlatformConfig(enabled=False, token="t"),
    }
    registry = AdapterRegistry({DISCORD: world.make})
    async with world.supervised(configs=configs, registry=registry) as supervisor:
        assert states(supervisor) == {"discord": "disabled", "telegram": "unavailable"}
        assert only_file(world)["telegram"]["state"] == "disabled"
        assert "does not support" in only_file(world)["telegram"]["error_message"]
        assert not supervisor.has_only_failed
        for wish in (supervisor.pause, supervisor.resume, supervisor.reconnect):
            with pytest.raises(NotFoundError, match="not served"):
                await wish(TELEGRAM)


@pytest.mark.asyncio
async def test_pauses_grow_to_five_minutes_and_never_end() -> None:
    world = World(answers={TELEGRAM: [OSError("down")] * 7})
    async with world.supervised() as supervisor:
        for number, pause in enumerate((30, 60, 120, 240, 300, 300, 300), 1):
            await until(lambda n=number: len(world.attempts) == n)  # type: ignore[misc]
            await becomes(supervisor, "retrying")
            assert supervisor.has_only_failed
            health = only(supervisor)
            assert health.next_try_at == pytest.approx(world.clock.time() + pause)
            assert health.detail == "down"
            await pass_time(world, supervisor, pause - 1)
            assert len(world.attempts) == number
            await pass_time(world, supervisor, 1.01)
        await becomes(supervisor, "connected")
        assert not supervisor.has_only_failed
        assert [adapter.left for adapter in world.made] == [1] * 7 + [0]
        assert only_file(world)["telegram"]["error_code"] is None


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", ["no", "hang", "deaf", OSError("x"), ValueError("bug"), "mute"])
async def test_one_platform_does_not_hurt_another(answer: Any) -> None:
    world = World(answers={TELEGRAM: [answer]})
    async with world.supervised(TELEGRAM, DISCORD) as supervisor:
        await until(lambda: states(supervisor)["discord"] == "connected")
        assert not supervisor.has_only_failed
        expected = "connecting" if answer == "mute" else "retrying"
        assert states(supervisor)["telegram"] == expected
        assert (TELEGRAM in world.adapters) == (answer == "mute")


@pytest.mark.asyncio
async def test_what_is_paused_does_not_count_as_working() -> None:
    world = World(answers={TELEGRAM: [OSError("down")]})
    async with world.supervised(TELEGRAM, DISCORD) as supervisor:
        await until(lambda: states(supervisor)["discord"] == "connected")
        assert not supervisor.has_only_failed
        await supervisor.pause(DISCORD)
        assert supervisor.has_only_failed
        await supervisor.pause(TELEGRAM)
        assert not supervisor.has_only_failed


@pytest.mark.asyncio
async def test_a_factory_that_fails_is_tried_again() -> None:
    world = World()
    broken = [True]

    def make(config: PlatformConfig, context: AdapterContext) -> PlatformAdapter:
        if broken:
            broken.clear()
            raise ValueError("no")
        return world.make(config, context)

    async with world.supervised(registry=AdapterRegistry({TELEGRAM: make})) as supervisor:
        await becomes(supervisor, "retrying")
        await pass_time(world, supervisor, 30)
        await becomes(supervisor, "connected")


@pytest.mark.asyncio
async def test_a_wrong_token_is_not_tried_again_until_a_person_wants_it() -> None:
    world = World(answers={TELEGRAM: ["bad token"]})
    async with world.supervised() as supervisor:
        assert only(supervisor) == PlatformHealth("telegram", "fatal", None, "The token is wrong.")
        assert supervisor.has_only_failed
        assert only_file(world)["telegram"]["error_code"] == "bad_token"
        await pass_time(world, supervisor, 10_000)
        assert len(world.attempts) == 1
        await supervisor.reconnect(TELEGRAM)
        await becomes(supervisor, "connected")
        assert not supervisor.has_only_failed


@pytest.mark.asyncio
async def test_silence_is_seen_probed_and_mended() -> None:
    world = World()
    async with world.supervised() as supervisor:
        world.clock.advance(89)
        assert only(supervisor).state == "connected"
        world.clock.advance(1)
        health = only(supervisor)
        assert health.state == "silent"
        assert health.detail == "Its server has not responded for 90 s."
        assert health.last_heard_at == world.clock.time() - 90
        supervisor.look()
        await until(lambda: world.probes == 1)
        await becomes(supervisor, "connected")
        assert len(world.made) == 1
        world.alive = False
        await pass_time(world, supervisor, 600)
        await until(lambda: len(world.made) == 2)
        await becomes(supervisor, "connected")
        assert world.attempts[-1] == ("telegram", True)
        assert world.made[0].left == 1
        [notice] = world.notices
        assert "Telegram was out of reach" in notice.title
        assert "delivered: telegram" in notice.detail


@pytest.mark.asyncio
async def test_a_connection_that_never_says_a_word_is_not_called_connected() -> None:
    world = World(answers={TELEGRAM: ["mute", "yes"]})
    world.alive = False
    async with world.supervised() as supervisor:
        assert only(supervisor).state == "connecting"
        world.made[0].heard()
        changes = world.changes
        supervisor.look()
        await until(lambda: world.changes > changes)
        assert only(supervisor).state == "connected"
        world.clock.advance(90)
        assert only(supervisor).state == "silent"
        supervisor.look()
        await becomes(supervisor, "connected")
        assert len(world.made) == 2


@pytest.mark.asyncio
async def test_a_probe_that_fails_badly_means_no() -> None:
    world = World()
    world.alive = ValueError("bug")
    async with world.supervised() as supervisor:
        await pass_time(world, supervisor, 90)
        await until(lambda: len(world.made) == 2)
        await becomes(supervisor, "connected")


@pytest.mark.asyncio
async def test_a_broken_connection_is_mended_at_once_but_not_for_ever_at_once() -> None:
    world = World()
    async with world.supervised() as supervisor:
        world.made[0].set_fatal_error("connection_lost", "It is gone.", retryable=True)
        await until(lambda: len(world.made) == 2)
        await becomes(supervisor, "connected")
        world.made[1].set_fatal_error("connection_lost", "It is gone.", retryable=True)
        await becomes(supervisor, "retrying")
        assert only(supervisor).detail == "It is gone."
        assert only_file(world)["telegram"]["error_code"] == "connection_lost"
        await pass_time(world, supervisor, 30)
        await becomes(supervisor, "connected")
        world.made[0].set_fatal_error("late", "An old one complains.", retryable=False)
        await asyncio.sleep(0.01)
        assert only(supervisor).state == "connected"
        await until(lambda: world.connected == ["telegram"] * 3)


@pytest.mark.asyncio
async def test_a_failure_for_good_at_run_time() -> None:
    world = World()
    async with world.supervised() as supervisor:
        world.made[0].set_fatal_error("conflict", "Somebody else polls.", retryable=False)
        await becomes(supervisor, "fatal")
        await until(lambda: world.adapters == {})
        assert only(supervisor).detail == "Somebody else polls."


@pytest.mark.asyncio
async def test_paused_resumed_and_connected_anew() -> None:
    world = World()
    async with world.supervised() as supervisor:
        await supervisor.pause(TELEGRAM, "A person wanted it.")
        await becomes(supervisor, "paused")
        assert only(supervisor).detail == "A person wanted it."
        assert world.adapters == {}
        await pass_time(world, supervisor, 10_000)
        assert len(world.made) == 1
        await supervisor.resume(TELEGRAM)
        await becomes(supervisor, "connected")
        await supervisor.reconnect(TELEGRAM)
        await until(lambda: len(world.made) == 3)
        await becomes(supervisor, "connected")
        assert [adapter.left for adapter in world.made] == [1, 1, 0]


@pytest.mark.asyncio
async def test_pause_ends_an_attempt_that_hangs() -> None:
    world = World(answers={TELEGRAM: ["yes", "hang"]})
    async with world.supervised(timing=LinkTiming(connect_s=3600, disconnect_s=0.05)) as supervisor:
        await supervisor.reconnect(TELEGRAM)
        await until(lambda: len(world.attempts) == 2)
        assert only(supervisor).state == "connecting"
        await supervisor.pause(TELEGRAM)
        await becomes(supervisor, "paused")
        await supervisor.resume(TELEGRAM)
        await becomes(supervisor, "connected")


@pytest.mark.asyncio
async def test_an_adapter_that_hangs_when_left_is_left_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    async with world.supervised() as supervisor:
        world.hangs_at_leaving = True
        await supervisor.reconnect(TELEGRAM)
        await until(lambda: len(world.made) == 2)
        world.hangs_at_leaving = False
        await becomes(supervisor, "connected")
        assert "Leaving telegram hangs" in caplog.text
        world.wakes.set()


# Tokens


class Gate:
    """The locks of tokens, as a test wants them."""

    def __init__(self) -> None:
        self.owner: TokenOwner | None = None
        self.held: list[str] = []

    async def acquire(self, token: TokenIdentity, platform: str) -> TokenOwner | None:
        if self.owner is None and platform not in self.held:
            self.held.append(platform)
        return self.owner

    async def release(self, token: TokenIdentity) -> None:
        self.held.remove("telegram")


@pytest.mark.asyncio
async def test_the_token_is_taken_before_connecting_and_given_back() -> None:
    world, gate = World(token=TokenIdentity("scope", "secret")), Gate()
    gate.owner = TokenOwner(GatewayRecord(77))
    async with world.supervised(tokens=gate) as supervisor:
        await becomes(supervisor, "retrying")
        assert only(supervisor).detail == "Another gateway (process 77) uses its token."
        assert world.attempts == []
        gate.owner = None
        await pass_time(world, supervisor, 30)
        await becomes(supervisor, "connected")
        assert gate.held == ["telegram"]
        supervisor.token_lost(TELEGRAM, TokenOwner(GatewayRecord(88)))
        gate.owner = TokenOwner(GatewayRecord(88))
        await becomes(supervisor, "retrying")
        await until(lambda: "process 88" in only(supervisor).detail)
        gate.owner = None
        await pass_time(world, supervisor, 60)
        await becomes(supervisor, "connected")
        await supervisor.pause(TELEGRAM)
        await until(lambda: gate.held == [])
        await supervisor.resume(TELEGRAM)
        await becomes(supervisor, "connected")
    assert gate.held == []


# Sleep


def look_for_sleep(supervisor: PlatformSupervisor) -> None:
    gap = supervisor._sleep_watch.look()
    if gap is not None:
        supervisor._woke(gap)


@pytest.mark.asyncio
async def test_after_sleep_every_server_is_asked_and_what_was_missed_is_said() -> None:
    world = World(answers={TELEGRAM: ["yes", "yes"]})
    async with world.supervised() as supervisor:
        world.clock.advance(5)
        world.boot += 3 * 3600.0
        world.alive = False
        look_for_sleep(supervisor)
        [notice] = world.notices
        assert notice.title.startswith("Asleep from ")
        assert notice.detail == "Messages that the server kept are delivered: telegram."
        await until(lambda: len(world.made) == 2)
        await becomes(supervisor, "connected")
        assert world.probes == 1
        look_for_sleep(supervisor)
        assert len(world.notices) == 1


@pytest.mark.asyncio
async def test_a_server_that_answers_after_sleep_is_kept() -> None:
    world = World()
    async with world.supervised() as supervisor:
        world.boot += 60.0
        look_for_sleep(supervisor)
        await until(lambda: world.probes == 1)
        supervisor.network_changed()
        await until(lambda: world.probes == 2)
        assert len(world.made) == 1
        assert world.notices == []


@pytest.mark.asyncio
async def test_waking_tries_at_once_what_waited() -> None:
    world = World(answers={TELEGRAM: [OSError("no network")] * 2})
    async with world.supervised() as supervisor:
        await becomes(supervisor, "retrying")
        world.boot += 60.0
        look_for_sleep(supervisor)
        await until(lambda: len(world.attempts) == 2)


# What others make of it


@pytest.mark.asyncio
async def test_whoever_fails_to_listen_does_not_stop_platforms() -> None:
    def fail() -> None:
        raise ValueError("a bug elsewhere")

    world = World()
    async with world.supervised(changed=fail) as supervisor:
        await becomes(supervisor, "connected")


@pytest.mark.asyncio
async def test_an_adapter_that_was_left_hands_over_nothing() -> None:
    world = World()
    async with world.supervised() as supervisor:
        old = world.made[0]
        await supervisor.reconnect(TELEGRAM)
        await until(lambda: len(world.made) == 2)
        await becomes(supervisor, "connected")
        task = old.handle_message(MessageEvent("hi"))
        await asyncio.wait({task})
        assert task.cancelled()


@pytest.mark.asyncio
async def test_in_another_network_every_server_is_asked_at_once(tmp_path: Path) -> None:
    world = World(network=tmp_path, answers={DISCORD: [OSError("down")]})
    async with world.supervised(TELEGRAM, DISCORD) as supervisor:
        await until(lambda: states(supervisor) == {"discord": "retrying", "telegram": "connected"})
        supervisor.look_at_network()
        await asyncio.sleep(0.01)
        assert (world.probes, len(world.attempts)) == (0, 2)

        tmp_path.joinpath("route").write_text("wlan0 00000000 01 0003 0 0 600 00000000\n")
        supervisor.look_at_network()

        await until(lambda: world.probes == 1)
        await until(lambda: states(supervisor) == {"discord": "connected", "telegram": "connected"})


@pytest.mark.asyncio
async def test_a_token_is_given_back_once_its_connection_is_really_gone() -> None:
    world, gate = World(token=TokenIdentity("scope", "secret")), Gate()
    async with world.supervised(tokens=gate) as supervisor:
        await becomes(supervisor, "connected")
        world.hangs_at_leaving = True
        await supervisor.pause(TELEGRAM)
        await becomes(supervisor, "paused")
        await asyncio.sleep(0.02)
        assert gate.held == ["telegram"]

        world.hangs_at_leaving = False
        world.wakes.set()

        await until(lambda: gate.held == [])


@pytest.mark.asyncio
async def test_a_token_that_is_used_again_is_not_given_back_meanwhile() -> None:
    world, gate = World(token=TokenIdentity("scope", "secret")), Gate()
    async with world.supervised(tokens=gate) as supervisor:
        await becomes(supervisor, "connected")
        world.hangs_at_leaving = True
        await supervisor.pause(TELEGRAM)
        await becomes(supervisor, "paused")
        await supervisor.resume(TELEGRAM)
        await becomes(supervisor, "connected")
        world.hangs_at_leaving = False
        world.wakes.set()
        await asyncio.sleep(0.02)
        assert gate.held == ["telegram"]
