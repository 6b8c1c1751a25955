"""How a gateway leaves, and what the next run takes up."""

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, SessionResetPolicy
from hermes_desktop.gateway.delivery.resume_after_restart import (
    BACK,
    GIVEN_UP,
    NOTE,
    NOTE_FOR_NEW_MESSAGE,
    PROMPT,
    SEND_AGAIN,
)
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.session import SessionSource, SessionStore
from hermes_desktop.state import SessionDB
from tests.fakes.agents import DeafAgent
from tests.fakes.clock import MovableClock
from tests.fakes.gateway import ALLOWED, RunningGateway, running_gateway
from tests.fakes.platform import FakePlatform
from tests.fakes.plugins import listening, registered
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"
HERE = Path(__file__).parent


def sent(gateway: RunningGateway) -> list[str]:
    return [text for _, text in gateway.telegram.sent]


def stored(home: Path, config: GatewayConfig = ALLOWED) -> Mapping[str, Any]:
    """The entry of the chat as the next run finds it."""
    db = SessionDB(home / "state.db")
    try:
        store = SessionStore(home / "sessions", config, db=db)
        store._ensure_loaded()
        return store._entries[KEY].to_dict()
    finally:
        db.close()


async def busy(gateway: RunningGateway, text: str = "long") -> "asyncio.Task[str | None]":
    gateway.model.hold.clear()
    gateway.model.asked.clear()
    running = gateway.telegram.receive(text)
    await until(gateway.model.asked.is_set)
    return running


# Leaving


@pytest.mark.asyncio
async def test_no_turn_begins_once_a_stop_was_requested(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        source = SessionSource(Platform.TELEGRAM, "c1", user_id="u1")
        end = gateway.runner.stop(drain_s=10)
        assert (gateway.runner._running, gateway.runner._draining) == (False, True)
        adapter = gateway.telegram
        with pytest.raises(RefusedError):
            gateway.runner.parts.queue.enqueue(MessageEvent("a", source=source), source, adapter)
        with pytest.raises(RefusedError):
            await gateway.runner.parts.background.begin(MessageEvent("b", source=source), "b", KEY)
        await gateway.telegram.receive("late")
        await end
        assert gateway.model.requests == []


@pytest.mark.asyncio
async def test_an_end_in_order_leaves_nothing_to_take_up(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        running = await busy(gateway)
        assert gateway.store._entries[KEY].resume_pending
        stopping = asyncio.ensure_future(gateway.runner.stop(drain_s=10))
        await until(lambda: gateway.reports[-1].phase == "stopping")
        gateway.model.hold.set()
        await stopping
        assert await running == "reply 1"
        assert sent(gateway) == ["reply 1"]
    assert not stored(tmp_path)["resume_pending"]
    assert (tmp_path / ".clean_shutdown").exists()
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        assert not (tmp_path / ".clean_shutdown").exists()
        assert sent(gateway) == []
        assert gateway.model.requests == []


@pytest.mark.asyncio
async def test_a_turn_that_is_cut_off_is_gone_on_with_once(tmp_path: Path) -> None:
    with listening() as heard:
        async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
            await busy(gateway)
            session_id = gateway.store.peek_session_id(KEY)
            await gateway.runner.stop(drain_s=0)
            assert sent(gateway) == []
    assert heard.calls == [
        ("on_session_finalize", {"session_id": session_id, "platform": "gateway"}, "shutdown")
    ]
    entry = stored(tmp_path)
    assert (entry["resume_pending"], entry["resume_reason"]) == (True, "shutdown_timeout")
    for _ in range(2):
        async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
            if not heard.calls[1:]:
                await until(lambda: bool(gateway.telegram.sent))
                assert sent(gateway) == ["reply 1"]
                assert gateway.model.texts() == [f"user: long\n\n{NOTE}\n\n{PROMPT}"]
                assert gateway.rows(session_id or "")[-2:] == [
                    ("user", PROMPT),
                    ("assistant", "reply 1"),
                ]
                heard.calls.append(("once", {}, ""))
                await until(lambda: len(gateway.runner.state.message_tasks) == 0)
                assert not gateway.store._entries[KEY].resume_pending
                assert not (tmp_path / ".restart_failure_counts").exists()
            else:
                await asyncio.sleep(0.05)
                assert sent(gateway) == []
                assert gateway.model.requests == []


@pytest.mark.asyncio
async def test_a_restart_that_was_asked_for_is_reported_to_the_chat(tmp_path: Path) -> None:
    asked: list[str] = []
    async with running_gateway(
        tmp_path / "state.db", hosted=True, restart_handler=lambda: asked.append("restart")
    ) as gateway:
        await gateway.telegram.receive("hello")
        source = SessionSource(Platform.TELEGRAM, "c1", user_id="u1")
        assert await gateway.runner.request_restart(source)
        await until(lambda: bool(asked))
        await busy(gateway)
        await gateway.runner.stop(drain_s=0)
    assert stored(tmp_path)["resume_reason"] == "restart_timeout"
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await until(lambda: len(gateway.telegram.sent) == 2)
        assert sorted(sent(gateway)) == [BACK, "reply 1"]
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        assert sent(gateway) == []
        assert not await gateway.runner.request_restart()


@pytest.mark.asyncio
async def test_leaving_is_bounded_whatever_hangs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()
    DeafAgent.wakes.clear()
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        runner = gateway.runner
        runner.state.interrupt_grace_s = 0.05
        gateway.factory.kind = DeafAgent
        hung = gateway.telegram.receive("hello")
        await until(lambda: isinstance(runner._running_agents.get(KEY), DeafAgent))
        with registered("on_session_finalize", lambda **_: release.wait(60)):
            soon = runner.state.clock.monotonic() + 0.3
            await runner.stop(drain_s=60, drain_until=soon - 0.2, deadline=soon)
            release.set()
        assert hung.cancelled()
        assert [(e.outcome, e.stored) for e in gateway.of(TurnFinished)] == [("stopped", False)]
        assert not gateway.telegram.connected
        assert (
            "on_session_finalize" in caplog.text
            or "The hooks of plugins did not end" in caplog.text
        )
        DeafAgent.wakes.set()
    entry = stored(tmp_path)
    assert (entry["resume_pending"], entry["resume_reason"]) == (True, "restart_interrupted")
    assert not (tmp_path / ".clean_shutdown").exists()


class StubbornPlatform(FakePlatform):
    """A platform that cannot be left, and does not hear that nobody waits for it any more."""

    wake = False

    async def disconnect(self) -> None:
        while not self.wake:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        await super().disconnect()


@pytest.mark.asyncio
async def test_a_platform_that_cannot_be_left_is_left_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    telegram = StubbornPlatform()
    async with running_gateway(tmp_path / "state.db", hosted=True, telegram=telegram) as gateway:
        runner = gateway.runner
        runner.state.bounded._grace_s = 0.01
        soon = runner.state.clock.monotonic() + 0.3
        await runner.stop(drain_s=0, deadline=soon)
        assert gateway.reports[-1].phase == "stopped"
        assert "Disconnecting telegram did not end" in caplog.text
        telegram.wake = True
        await until(lambda: len(runner.state.bounded) == 0)


@pytest.mark.asyncio
@pytest.mark.parametrize("kept", [True, False])
async def test_a_message_that_was_not_stored_when_we_left_is_not_lost(
    tmp_path: Path, *, kept: bool
) -> None:
    """It comes again by itself where messages are kept; else its writer is told."""
    making, made = threading.Event(), threading.Event()

    def make(_request: object) -> None:
        making.set()
        made.wait(60)

    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.runner.state.inbox_kept = kept
        gateway.factory.on_make = make
        turn = gateway.telegram.receive("hello")
        await until(making.is_set)
        stopping = asyncio.ensure_future(gateway.runner.stop(drain_s=0))
        await until(lambda: gateway.runner.chats.turns[KEY].stop_requested)
        made.set()
        await stopping
        told = await turn
        if kept:
            assert told == ""
            assert sent(gateway) == []
        else:
            assert told is not None
            assert "closing" in told
            assert sent(gateway) == [told]
    assert stored(tmp_path)["resume_pending"] is kept
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await asyncio.sleep(0.05)
        assert sent(gateway) == ([SEND_AGAIN] if kept else [])  # here nobody brings it again


@pytest.mark.asyncio
async def test_a_stop_can_be_hurried(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await busy(gateway)
        stopping = asyncio.ensure_future(gateway.runner.stop(drain_s=3600))
        await until(lambda: gateway.reports[-1].phase == "stopping")
        await asyncio.sleep(0.02)
        assert not stopping.done()
        gateway.runner.parts.life_cycle.hurry()
        await stopping
        assert gateway.of(TurnFinished)[-1].outcome == "stopped"


@pytest.mark.asyncio
async def test_a_second_stop_makes_the_first_one_come_sooner(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await busy(gateway)
        first = asyncio.ensure_future(gateway.runner.stop(drain_s=3600))
        await until(lambda: gateway.reports[-1].phase == "stopping")
        await gateway.runner.stop(drain_s=0)
        await first
        assert gateway.reports[-1].phase == "stopped"


@pytest.mark.asyncio
async def test_nothing_runs_afterwards(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await busy(gateway)
        await gateway.runner.stop(drain_s=0)
        await until(lambda: asyncio.all_tasks() == before)
        refused = await gateway.telegram.receive("too late")
        assert refused is not None
        assert "closing" in refused


# What the next run takes up


async def crashed(home: Path, config: GatewayConfig, clock: MovableClock) -> str:
    """A home whose gateway was at a turn and wrote nothing at its end; the conversation."""
    db = SessionDB(home / "state.db", clock=clock)
    store = SessionStore(home / "sessions", config, db=db, clock=clock)
    source = SessionSource(Platform.TELEGRAM, "c1", user_id="u1")
    entry = store.get_or_create_session(source)
    db.append_message(entry.session_id, role="user", content="long")
    store.mark_resume_pending(KEY, "restart_interrupted")
    db.close()
    return entry.session_id


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "why", ["too long ago", "not allowed any more", "too many starts", "suspended"]
)
async def test_what_is_not_taken_up(tmp_path: Path, why: str) -> None:
    clock, config = MovableClock(), ALLOWED
    await crashed(tmp_path, config, clock)
    if why == "too long ago":
        clock.advance(3601)
    elif why == "not allowed any more":
        config = replace(ALLOWED, platforms={})
    elif why == "too many starts":
        (tmp_path / "gateway").mkdir()
        boots = [clock.time() - 20, clock.time() - 10]
        (tmp_path / "gateway" / "restart_loop.json").write_text(json.dumps({"boots": boots}))
    else:
        db = SessionDB(tmp_path / "state.db", clock=clock)
        SessionStore(tmp_path / "sessions", config, db=db, clock=clock).suspend_session(KEY)
        db.close()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=config, clock=clock
    ) as gateway:
        await asyncio.sleep(0.05)
        assert sent(gateway) == []
        assert gateway.model.requests == []
        assert gateway.store._entries[KEY].resume_pending
        if why == "too long ago":
            await gateway.telegram.receive("and now?")
            assert gateway.model.texts() == [f"user: long\n\n{NOTE_FOR_NEW_MESSAGE}\n\nand now?"]
            assert not gateway.store._entries[KEY].resume_pending


@pytest.mark.asyncio
async def test_an_answer_that_was_cut_off_too_long_ago_begins_anew_where_chats_expire(
    tmp_path: Path,
) -> None:
    clock = MovableClock()
    config = replace(ALLOWED, default_reset_policy=SessionResetPolicy("idle", idle_minutes=600))
    old = await crashed(tmp_path, config, clock)
    clock.advance(3601)
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=config, clock=clock
    ) as gateway:
        await gateway.telegram.receive("hello")
        assert gateway.store.peek_session_id(KEY) != old
        assert "a restart interrupted the last one too long" in sent(gateway)[0]


@pytest.mark.asyncio
async def test_an_attempt_whose_turn_did_not_begin_is_not_counted(tmp_path: Path) -> None:
    clock, leases = MovableClock(), KeyedLocks()
    session_id = await crashed(tmp_path, ALLOWED, clock)
    async with (
        leases.hold(session_id),
        running_gateway(
            tmp_path / "state.db", hosted=True, clock=clock, turn_leases=leases
        ) as gateway,
    ):
        await until(lambda: leases._wanted.get(session_id, 0) > 1)
        counts = tmp_path / ".restart_failure_counts"
        assert json.loads(counts.read_text()) == {KEY: 1}
        await gateway.runner.stop(drain_s=0)
        assert gateway.model.requests == []
        assert not counts.exists()
        assert gateway.store._entries[KEY].resume_pending


@pytest.mark.asyncio
async def test_a_chat_that_is_cut_off_again_and_again_is_given_up_and_told(tmp_path: Path) -> None:
    clock = MovableClock()
    await crashed(tmp_path, ALLOWED, clock)
    for attempt in range(1, 4):
        clock.advance(100)
        async with running_gateway(tmp_path / "state.db", hosted=True, clock=clock) as gateway:
            gateway.model.hold.clear()
            await until(gateway.model.asked.is_set)
            counts = json.loads((tmp_path / ".restart_failure_counts").read_text())
            assert counts == {KEY: attempt}
            await gateway.runner.stop(drain_s=0)
    clock.advance(100)
    async with running_gateway(tmp_path / "state.db", hosted=True, clock=clock) as gateway:
        await until(lambda: bool(gateway.telegram.sent))
        assert sent(gateway) == [GIVEN_UP]
        assert not (tmp_path / ".restart_failure_counts").exists()
        assert gateway.model.requests == []
        assert gateway.store._entries[KEY].suspended
    async with running_gateway(tmp_path / "state.db", hosted=True, clock=clock) as gateway:
        assert sent(gateway) == []
        old = gateway.store.peek_session_id(KEY)
        await gateway.telegram.receive("hello")
        assert gateway.store.peek_session_id(KEY) != old
        assert "the last one was stopped" in sent(gateway)[0]


@pytest.mark.asyncio
async def test_a_chat_that_was_only_used_lately_is_left_in_peace(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await gateway.telegram.receive("hello")
    (tmp_path / ".clean_shutdown").unlink()
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        assert sent(gateway) == []
        assert not gateway.store._entries[KEY].resume_pending


@pytest.mark.asyncio
async def test_messages_that_come_while_we_start_are_answered_after_what_was_cut_off(
    tmp_path: Path,
) -> None:
    clock = MovableClock()
    await crashed(tmp_path, ALLOWED, clock)

    telegram = FakePlatform()
    early: list[asyncio.Task[str | None]] = []

    class Hooks:
        async def emit(self, event_type: str, context: dict[str, Any]) -> None:
            if event_type == "gateway:startup":
                early.append(telegram.receive("and then?"))
                await asyncio.sleep(0.01)
                assert not early[0].done()

    async with running_gateway(
        tmp_path / "state.db", hosted=True, clock=clock, hooks=Hooks(), telegram=telegram
    ) as gateway:
        await early[0]
        assert sent(gateway) == ["reply 1", "reply 2"]
        assert gateway.model.texts(0) == [f"user: long\n\n{NOTE}\n\n{PROMPT}"]
        assert gateway.model.texts(1)[-1] == "user: and then?"


# Killed


@pytest.mark.asyncio
@pytest.mark.two_processes
@pytest.mark.parametrize("moment", ["asked", "made"])
async def test_killed_in_the_middle_of_a_turn(tmp_path: Path, moment: str) -> None:
    """The chat is told once, or its answer is gone on with once; then all is as ever."""
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "busy_gateway.py"),
        str(tmp_path),
        moment,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    assert (await program.stdout.readline()).decode().strip() == moment
    program.kill()
    await program.wait()
    expected = {"asked": "reply 1", "made": SEND_AGAIN}[moment]
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await until(lambda: bool(gateway.telegram.sent))
        await until(lambda: not gateway.store._entries[KEY].resume_pending)
        assert sent(gateway) == [expected]
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await asyncio.sleep(0.05)
        assert sent(gateway) == []
        assert (await gateway.telegram.receive("hello")) == "reply 1"


# Starting


class SlowPlatform(FakePlatform):
    """A platform that is never connected."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()

    async def connect(self, *, is_reconnect: bool = False) -> bool:
        self.begun.set()
        await asyncio.sleep(3600)
        return await super().connect(is_reconnect=is_reconnect)


@pytest.mark.asyncio
async def test_a_stop_overtakes_a_start(tmp_path: Path) -> None:
    telegram = SlowPlatform()

    async def run() -> None:
        async with running_gateway(tmp_path / "state.db", hosted=True, telegram=telegram) as each:
            await each.runner.stop()
            assert [report.phase for report in each.reports] == ["starting", "stopping", "stopped"]
            assert not each.runner._running
            assert not telegram.connected

    gateway = asyncio.ensure_future(run())
    await telegram.begun.wait()
    runner = telegram._message_handler.__self__._gateway  # type: ignore[union-attr]
    await runner.stop()
    await gateway


@pytest.mark.asyncio
async def test_a_bug_of_who_listens_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.runner.state.announce = lambda _report: 1 // 0  # type: ignore[assignment,return-value]
        assert await gateway.telegram.receive("hello") == "reply 1"
        await gateway.runner.stop()
        assert not gateway.telegram.connected
    assert "The status of the gateway could not be announced" in caplog.text
