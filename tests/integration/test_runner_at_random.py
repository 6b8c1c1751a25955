"""Whatever comes in whatever order: each message ends once, and nothing is left behind."""

import asyncio
import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_desktop.core.events import TurnFinished
from hermes_desktop.gateway.config.gateway_config import (
    GatewayConfig,
    Platform,
    RunningSettings,
    SessionResetPolicy,
)
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.session import SessionSource
from tests.fakes.clock import MovableClock
from tests.fakes.gateway import ALLOWED, RunningGateway, running_gateway
from tests.support.waiting import until

CHATS = ("a", "b", "c")
MODES = ("interrupt", "queue")


def config_of(rng: random.Random) -> GatewayConfig:
    return replace(
        ALLOWED,
        running=RunningSettings(
            busy_input_mode=rng.choice(MODES), agent_timeout_s=0, notify_interval_s=0
        ),
        default_reset_policy=SessionResetPolicy(mode="idle", idle_minutes=10),
        max_concurrent_sessions=rng.choice((None, 2)),
    )


class Storm:
    """Things that happen to a gateway, one after the other, without waiting for their ends."""

    def __init__(self, gateway: RunningGateway, clock: MovableClock, rng: random.Random) -> None:
        self.gateway = gateway
        self.clock = clock
        self.rng = rng
        self.sent: list[str] = []
        self.tasks: list[asyncio.Future[object]] = []

    def key(self) -> str:
        return f"agent:main:telegram:dm:{self.rng.choice(CHATS)}"

    def source(self) -> SessionSource:
        return SessionSource(Platform.TELEGRAM, self.rng.choice(CHATS), user_id="u1")

    def message(self) -> None:
        text = f"m{len(self.sent)}"
        self.sent.append(f"turn {text}")
        chat_id = self.rng.choice(CHATS)
        self.tasks.append(self.gateway.telegram.receive(text, chat_id=chat_id))

    def queued(self) -> None:
        event = MessageEvent(f"q{len(self.sent)}", source=self.source())
        self.sent.append(event.turn_id)
        self.tasks.append(asyncio.ensure_future(self.gateway.runner.parts.queue.add(event)))

    def stop(self) -> None:
        self.tasks.append(
            asyncio.ensure_future(self.gateway.runner.parts.control.stop_turn(self.key()))
        )

    def new(self) -> None:
        event = MessageEvent("/new", source=self.source())
        done = self.gateway.runner._handle_reset_command(event)
        self.tasks.append(asyncio.ensure_future(done))

    def time_passes(self) -> None:
        self.clock.advance(self.rng.choice((1, 61, 700)))

    def look(self) -> None:
        self.tasks.append(asyncio.ensure_future(self.gateway.runner.parts.housekeeping.check()))

    def hold(self) -> None:
        if self.gateway.model.hold.is_set():
            self.gateway.model.hold.clear()
        else:
            self.gateway.model.hold.set()

    async def blow(self, steps: int) -> None:
        kinds = [self.message] * 6 + [self.hold] * 3 + [self.stop, self.new, self.queued]
        kinds += [self.time_passes, self.look]
        for _ in range(steps):
            self.rng.choice(kinds)()
            await asyncio.sleep(self.rng.choice((0, 0, 0.001, 0.004)))


@pytest.mark.asyncio
@pytest.mark.parametrize("ending", ["calm", "stopped"])
async def test_each_message_ends_once_and_nothing_is_left(tmp_path: Path, ending: str) -> None:
    seed = int(os.environ.get("HERMES_SEED") or random.randrange(1 << 30))
    for number in range(6):
        rng, clock = random.Random(seed + number), MovableClock()
        home = tmp_path / str(number)
        home.mkdir()
        async with running_gateway(
            home / "state.db", hosted=True, config=config_of(rng), clock=clock
        ) as gateway:
            storm = Storm(gateway, clock, rng)
            await storm.blow(60)
            if ending == "stopped":
                await gateway.runner.stop(drain_s=rng.choice((0, 0.01)))
            gateway.model.hold.set()
            async with asyncio.timeout(60):
                results = await asyncio.gather(*storm.tasks, return_exceptions=True)
            await until(lambda: len(gateway.runner.state.message_tasks) == 0)
            check(gateway, storm, results, f"seed {seed + number}", ending)


def check(
    gateway: RunningGateway, storm: Storm, results: list[object], seed: str, ending: str
) -> None:
    wrong = [each for each in results if isinstance(each, Exception)]
    refused = sum("not accepted" in str(each) or "closing" in str(each) for each in wrong)
    assert len(wrong) == refused, (seed, wrong)
    ends = Counter(event.turn_id for event in gateway.of(TurnFinished))
    assert set(ends.values()) <= {1}, (seed, ends)
    missing = set(storm.sent) - set(ends)
    assert len(missing) <= refused, (seed, missing)
    runner = gateway.runner
    left = [
        runner.chats.turns,
        runner._running_agents,
        runner._running_agents_ts,
        runner.chats.waiting,
        runner.state.queued_turns,
        runner.state.turn_order._locks,
        runner.state.turn_leases._locks,
        runner.state.entrance._locks,
    ]
    assert left == [{}, {}, {}, {}, set(), {}, {}, {}], (seed, left)
    if ending == "calm":
        pending = [each.session_key for each in gateway.store.pending_chats()]
        assert pending == [], (seed, pending)
        for entry in gateway.store.list_sessions():
            kinds = [role for role, _ in gateway.rows(entry.session_id)]
            assert kinds.count("assistant") <= kinds.count("user"), (seed, kinds)
