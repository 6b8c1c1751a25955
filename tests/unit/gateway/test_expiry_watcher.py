"""Conversations that expire while nobody writes, and old entries."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.gateway.config.gateway_config import SessionResetPolicy
from hermes_desktop.gateway.platforms.desktop import IDLE_LOOK_S
from hermes_desktop.gateway.runner import housekeeping
from hermes_desktop.state.records.sqlite_errors import MissingSessionError
from tests.fakes.clock import MovableClock
from tests.fakes.gateway import ALLOWED, running_gateway
from tests.fakes.plugins import EventHooks, listening, registered
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"
IDLE = replace(ALLOWED, default_reset_policy=SessionResetPolicy(mode="idle", idle_minutes=60))


@pytest.mark.asyncio
async def test_an_expired_conversation_is_ended_once_and_its_agent_goes(tmp_path: Path) -> None:
    clock, events = MovableClock(), EventHooks()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock, hooks=events
    ) as gateway:
        await gateway.telegram.receive("one")
        (entry,) = gateway.store.list_sessions()
        events.heard.clear()
        gateway.runner._session_model_overrides[KEY] = {"model": "other"}
        with listening() as heard:
            await gateway.runner.parts.housekeeping.check()
            assert heard.calls == []
            clock.advance(3601)
            await gateway.runner.parts.housekeeping.check()
            await gateway.runner.parts.housekeeping.check()
        assert heard.calls == [
            (
                "on_session_finalize",
                {"session_id": entry.session_id, "platform": "telegram"},
                "session_expired",
            )
        ]
        assert events.names() == ["session:end"]
        assert entry.expiry_finalized
        assert gateway.runner._agent_cache == {}
        assert gateway.runner._session_model_overrides == {}
        row = gateway.db.get_session(entry.session_id)
        assert row["end_reason"] == "session_reset"


@pytest.mark.asyncio
async def test_a_chat_with_a_running_turn_is_left_for_the_next_look(tmp_path: Path) -> None:
    clock = MovableClock()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock
    ) as gateway:
        gateway.model.hold.clear()
        running = gateway.telegram.receive("one")
        await until(gateway.model.asked.is_set)
        clock.advance(3601)
        with listening() as heard:
            await gateway.runner.parts.housekeeping.check()
            assert heard.calls == []
            assert gateway.model.closed == 0
            gateway.model.hold.set()
            assert await running == "reply 1"
            await gateway.runner.parts.housekeeping.check()
            assert heard.calls == []  # it was used just now
            clock.advance(3601)
            await gateway.runner.parts.housekeeping.check()
            assert len(heard.calls) == 1


@pytest.mark.asyncio
async def test_a_conversation_that_the_window_is_in_is_left_for_the_next_look(
    tmp_path: Path,
) -> None:
    clock = MovableClock()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock
    ) as gateway:
        await gateway.telegram.receive("one")
        session_id = gateway.store.peek_session_id(KEY)
        gateway.model.hold.clear()
        gateway.model.asked.clear()
        turn_id = await gateway.submit("from the desk", session_id)
        await until(gateway.model.asked.is_set)
        clock.advance(3601)
        with listening() as heard:
            await gateway.runner.parts.housekeeping.check()
            assert heard.calls == []
            gateway.model.hold.set()
            assert (await gateway.desktop.wait(turn_id)).outcome == "done"
            await gateway.runner.parts.housekeeping.check()
            assert [name for name, _ in heard.brief()] == ["on_session_finalize"]


@pytest.mark.asyncio
async def test_a_message_that_comes_meanwhile_waits_and_begins_anew(tmp_path: Path) -> None:
    clock = MovableClock()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock
    ) as gateway:
        await gateway.telegram.receive("one")
        old = gateway.store.peek_session_id(KEY)
        clock.advance(3601)
        entered, go_on = threading.Event(), threading.Event()

        def hold(**_: Any) -> None:
            entered.set()
            go_on.wait(60)

        with listening() as heard, registered("on_session_finalize", hold):
            look = asyncio.ensure_future(gateway.runner.parts.housekeeping.check())
            await until(entered.is_set)
            message = gateway.telegram.receive("two")
            go_on.set()
            await look
            await message
        assert [name for name, _ in heard.brief()] == ["on_session_finalize", "on_session_reset"]
        assert heard.brief()[0][1] == old
        assert gateway.store.peek_session_id(KEY) == heard.brief()[1][1] != old


@pytest.mark.asyncio
async def test_after_three_failures_it_is_only_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = MovableClock()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock
    ) as gateway:
        await gateway.telegram.receive("one")
        (entry,) = gateway.store.list_sessions()
        gateway.store.set_model_override(KEY, {"model": "other"})
        clock.advance(3601)

        async def fail(_entry: Any) -> None:
            raise MissingSessionError(entry.session_id)

        monkeypatch.setattr(gateway.runner.parts.boundaries, "expire", fail)
        for _ in range(2):
            await gateway.runner.parts.housekeeping.check()
            assert not entry.expiry_finalized
        await gateway.runner.parts.housekeeping.check()
        assert entry.expiry_finalized
        assert entry.model_override == {"model": "other"}
        assert gateway.runner.parts.housekeeping._expiry_failures == {}
        assert "could not be processed (3)" in caplog.text


@pytest.mark.asyncio
async def test_old_entries_go_once_an_hour(tmp_path: Path) -> None:
    clock = MovableClock()
    async with running_gateway(tmp_path / "state.db", hosted=True, clock=clock) as gateway:
        await gateway.telegram.receive("one")
        await gateway.runner.parts.housekeeping.check()
        assert list(gateway.store._entries) == [KEY]
        clock.advance(91 * 86400)
        gateway.runner._last_session_store_prune_ts = clock.time() - 3600
        await gateway.runner.parts.housekeeping.check()
        assert list(gateway.store._entries) == [KEY]
        clock.advance(1)
        await gateway.runner.parts.housekeeping.check()
        assert gateway.store._entries == {}
        assert gateway.db.session_count() == 1


@pytest.mark.asyncio
async def test_it_looks_again_and_again_whatever_one_look_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        looks: list[int] = []
        sleep = asyncio.sleep
        pauses: list[float] = []

        async def look() -> None:
            looks.append(1)
            if len(looks) == 3:
                gateway.runner._running = False
            raise OSError("disk")

        async def pause(seconds: float) -> None:
            pauses.append(seconds)
            await sleep(0)

        monkeypatch.setattr(gateway.runner.parts.housekeeping, "check", look)
        monkeypatch.setattr(housekeeping.asyncio, "sleep", pause)
        await gateway.runner._session_expiry_watcher(interval=7)
        monkeypatch.undo()
        assert [each for each in pauses if each != IDLE_LOOK_S] == [60.0, 7, 7, 7]
        assert caplog.text.count("Expired sessions could not be processed") == 3
