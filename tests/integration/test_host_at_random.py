"""A host to which everything happens at any moment, and what is true all the time."""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE, ask_to_stop, parse_record
from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.identity import gateway_lookalike, write_record

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio, pytest.mark.slow]

_STEPS = 40


class Events:
    """What may happen, by chance; calls are not waited for."""

    def __init__(self, stage: HostStage, chance: random.Random) -> None:
        self._stage = stage
        self._chance = chance
        self._calls: set[asyncio.Future[object]] = set()
        self._messages = 0
        host = stage.host
        self._kinds: list[Callable[[], Awaitable[None]]] = [
            lambda: self._call(host.start()),
            lambda: self._call(host.start(insist=True)),
            lambda: self._call(host.stop(drain_s=chance.choice([0.0, 0.3]))),
            lambda: self._call(host.restart(drain_s=0.2)),
            lambda: self._call(host.take_over()),
            lambda: self._call(stage.services.chat.send("typed")),
            lambda: self._signal(signal.SIGKILL),
            lambda: self._signal(signal.SIGTERM),
            lambda: self._signal(signal.SIGUSR1),
            self._message,
            self._note,
            self._other_gateway,
        ]

    async def happen(self) -> None:
        await self._chance.choice(self._kinds)()
        await asyncio.sleep(self._chance.choice([0.0, 0.01, 0.05, 0.3]))

    async def settle(self) -> None:
        if self._calls:
            _, late = await asyncio.wait(self._calls, timeout=60)
            assert not late

    async def _call(self, call: Awaitable[object]) -> None:
        self._calls.add(asyncio.ensure_future(call))

    async def _signal(self, number: signal.Signals) -> None:
        pid = (self._stage.file(PID_FILE) or {}).get("pid")
        if pid is not None and pid != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    async def _note(self) -> None:
        record = parse_record(self._stage.file(PID_FILE))
        if record is not None:
            ask_to_stop(self._stage.home, record, now=time.time())

    async def _message(self) -> None:
        self._messages += 1
        self._stage.chat.say(f"message {self._messages}", chat=f"c{self._messages % 3}", user="u1")

    async def _other_gateway(self) -> None:
        if self._stage.host.state not in {"stopped", "attached"}:
            return
        with gateway_lookalike() as record:
            write_record(self._stage.home / PID_FILE, record)
            await asyncio.sleep(self._chance.random())
        self._stage.home.joinpath(PID_FILE).unlink(missing_ok=True)


@pytest.mark.parametrize("seed", [11, 12])
async def test_whatever_happens_there_is_one_gateway_and_it_can_be_started(
    tmp_path: Path, seed: int
) -> None:
    async with host_stage(tmp_path, autostart=True) as stage:
        events = Events(stage, random.Random(seed))
        for _ in range(_STEPS):
            await events.happen()
        await events.settle()

        assert stage.chat.look()["most_bots"] == 1
        assert stage.ended == []
        await stage.host.stop(drain_s=0.0)
        await stage.reach("stopped")
        assert list(stage.locks.glob("*.lock")) == []
        await stage.host.start(insist=True)
        assert stage.host.state in {"running", "working"}
        assert len(list(stage.locks.glob("*.lock"))) == 1
    assert [t for t in asyncio.all_tasks() if t is not asyncio.current_task()] == []
