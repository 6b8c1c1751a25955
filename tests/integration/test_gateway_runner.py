"""The way of a message through the gateway, on a real loop, real threads and a real state.db."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.errors import CannotReachError, NotConfiguredError
from hermes_desktop.core.events import (
    TurnDelta,
    TurnFinished,
    TurnQueued,
    TurnStarted,
)
from hermes_desktop.core.session_context import get_session_env
from hermes_desktop.gateway.platforms.base import SendResult
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.state import SessionDB
from tests.fakes.agents import DeafAgent, RotatingAgent
from tests.fakes.gateway import RunningGateway, running_gateway
from tests.fakes.state_files import demand_mood
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"


def moves(gateway: RunningGateway) -> list[tuple[str, str]]:
    """Which turn did what, in order, without deltas."""
    names = {TurnQueued: "queued", TurnStarted: "started", TurnFinished: "finished"}
    return [(names[type(event)], event.turn_id) for event in gateway.events if type(event) in names]


# The one scenario that every platform takes.


@pytest.mark.asyncio
@pytest.mark.parametrize("way", ["desktop", "telegram"])
async def test_every_platform_takes_the_same_way(tmp_path: Path, way: str) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:

        async def send(text: str, session_id: str | None) -> "asyncio.Future[Any]":
            if way == "telegram":
                return gateway.telegram.receive(text, turn_id=text)
            await gateway.desktop.submit(text=text, session_id=session_id, turn_id=text)
            return asyncio.ensure_future(gateway.desktop.wait(text))

        await (await send("one", None))
        first = gateway.of(TurnFinished)[0]
        session_id, key = first.session_id, first.session_key
        assert key.split(":")[:4] == ["agent", "main", way, "dm"]
        assert gateway.runner._agent_cache[key][3] == session_id

        gateway.model.hold.clear()
        gateway.model.asked.clear()
        second = await send("two", session_id)
        await until(gateway.model.asked.is_set)
        assert gateway.runner._running_agents[key] is gateway.factory.made[0]
        third = await send("three", session_id)
        await until(lambda: ("queued", "three") in moves(gateway))
        gateway.model.hold.set()
        await asyncio.gather(second, third)

        assert moves(gateway) == [
            ("started", "one"),
            ("finished", "one"),
            ("started", "two"),
            ("queued", "three"),
            ("finished", "two"),
            ("started", "three"),
            ("finished", "three"),
        ]
        assert [event.reply for event in gateway.of(TurnFinished)] == [
            "reply 1",
            "reply 2",
            "reply 3",
        ]
        rows = gateway.db.get_messages(session_id)
        assert [row["content"] for row in rows] == [
            "one",
            "reply 1",
            "two",
            "reply 2",
            "three",
            "reply 3",
        ]
        assert [event.last_message_id for event in gateway.of(TurnFinished)] == [
            row["id"] for row in rows[1::2]
        ]
        row = gateway.db.get_session(session_id)
        assert (row["source"], row["session_key"]) == (way, key)
        assert len(gateway.factory.made) == 1
        assert gateway.runner._running_agents == {}
        if way == "telegram":
            assert gateway.telegram.sent == [("c1", f"reply {n}") for n in (1, 2, 3)]
            assert row["user_id"] == "u1"


@pytest.mark.asyncio
@pytest.mark.parametrize("user_id", ["u2", None])
async def test_a_stranger_is_refused_and_leaves_nothing(
    tmp_path: Path, user_id: str | None
) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        assert await gateway.telegram.receive("let me in", user_id=user_id) is None
        assert gateway.telegram.sent == []
        assert moves(gateway) == []
        assert gateway.store._entries == {}
        assert gateway.db.session_count() == 0
        assert gateway.model.requests == []


# Streaming


@pytest.mark.asyncio
async def test_a_flood_of_deltas_arrives_whole_and_in_few_events(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        words = [f"w{n} " for n in range(10_000)]
        gateway.model.pieces = [words]
        gateway.model.thoughts = ["let me ", "think"]
        loop = asyncio.get_running_loop()
        began = loop.time()
        finished = await gateway.say("tell")
        took = loop.time() - began
        deltas = gateway.of(TurnDelta)
        assert "".join(d.text for d in deltas if d.kind == "text") == "".join(words)
        assert "".join(d.text for d in deltas if d.kind == "reasoning") == "let me think"
        assert len(deltas) <= took / 0.05 + 4
        last_delta = max(n for n, event in enumerate(gateway.events) if event in deltas)
        assert gateway.events.index(finished) > last_delta


@pytest.mark.asyncio
async def test_the_turn_knows_its_session_and_the_loop_does_not(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        seen: list[str] = []
        gateway.model.on_ask = lambda _request: seen.extend(
            get_session_env(name) for name in ("HERMES_SESSION_ID", "HERMES_SESSION_KEY")
        )
        finished = await gateway.say("who am I")
        assert seen == [finished.session_id, finished.session_key]
        assert get_session_env("HERMES_SESSION_ID") == ""


# Stopping a turn


@pytest.mark.asyncio
async def test_stop_ends_the_reply_and_the_next_message_is_answered(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        session_id = (await gateway.say("hello")).session_id
        assert not await gateway.desktop.stop_turn(session_id)
        gateway.model.hold.clear()
        gateway.model.asked.clear()
        turn_id = await gateway.submit("long one", session_id)
        await until(gateway.model.asked.is_set)
        assert gateway.desktop.running(session_id)
        assert await gateway.desktop.stop_turn(session_id)
        finished = await gateway.desktop.wait(turn_id)
        assert (finished.outcome, finished.stored, finished.reply) == ("stopped", True, "")
        assert not gateway.desktop.running(session_id)
        gateway.model.hold.set()
        again = await gateway.say("and now", session_id)
        assert (again.outcome, again.reply) == ("done", "reply 3")


@pytest.mark.asyncio
async def test_stop_before_there_is_an_agent_asks_nobody(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.factory.on_make = lambda request: gateway.runner.interrupt(request.session_key)
        finished = await gateway.say("never mind")
        assert (finished.outcome, finished.stored) == ("stopped", False)
        assert gateway.model.requests == []
        assert gateway.db.session_count() == 0


# Failures


@pytest.mark.asyncio
async def test_a_model_that_does_not_answer_is_named(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.model.failure = CannotReachError("Nobody answers.", "refused", "Start it.")
        finished = await gateway.say("hello")
        assert (finished.outcome, finished.stored) == ("failed", True)
        assert (finished.error_title, finished.error_detail, finished.error_hint) == (
            "Nobody answers.",
            "refused",
            "Start it.",
        )
        assert gateway.rows(finished.session_id) == [("user", "hello")]
        delivered = await gateway.telegram.receive("hello")
        assert delivered is not None
        assert "Nobody answers." in delivered
        assert gateway.telegram.sent == [("c1", delivered)]
        gateway.model.failure = None
        assert (await gateway.say("again", finished.session_id)).outcome == "done"


@pytest.mark.asyncio
async def test_without_a_model_nothing_is_stored(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.factory.failure = NotConfiguredError("No model is set.", "", "Set one.")
        finished = await gateway.say("hello")
        assert (finished.outcome, finished.stored) == ("failed", False)
        assert (finished.error_title, finished.error_hint) == ("No model is set.", "Set one.")
        assert gateway.db.session_count() == 0
        gateway.factory.failure = None
        assert (await gateway.say("hello", finished.session_id)).outcome == "done"


@pytest.mark.asyncio
async def test_a_store_that_may_not_be_written_keeps_the_text(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    SessionDB(db_path).close()
    newer = sqlite3.connect(db_path, isolation_level=None)
    newer.execute("UPDATE schema_version SET version = 99")
    demand_mood(newer)
    newer.close()
    async with running_gateway(db_path) as gateway:
        finished = await gateway.say("hello")
        assert (finished.outcome, finished.stored) == ("failed", False)
        assert finished.error_title
        assert finished.error_hint
        assert gateway.model.requests == []


@pytest.mark.asyncio
async def test_a_bug_in_an_agent_is_told_and_the_chat_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.factory.on_make = lambda _request: 1 // 0
        finished = await gateway.say("hello")
        assert (finished.outcome, finished.stored) == ("failed", False)
        assert "ZeroDivisionError" in finished.error_detail
        assert "A turn failed" in caplog.text
        gateway.factory.on_make = lambda _request: None
        assert (await gateway.say("hello", finished.session_id)).outcome == "done"


@pytest.mark.asyncio
async def test_a_reply_that_is_not_delivered_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.telegram.result = SendResult(success=False, error="chat not found")
        await gateway.telegram.receive("hello")
        assert gateway.of(TurnFinished)[0].outcome == "done"
        assert "chat not found" in caplog.text
        assert len(gateway.rows(gateway.of(TurnFinished)[0].session_id)) == 2


@pytest.mark.asyncio
async def test_an_empty_reply_is_filled_in(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.model.pieces = [[""]]
        finished = await gateway.say("hello")
        assert finished.outcome == "done"
        assert "try again" in finished.reply


@pytest.mark.asyncio
async def test_a_runner_without_parts_refuses_and_survives() -> None:
    runner = GatewayRunner()
    await runner.start()
    await runner.stop()
    bare = object.__new__(GatewayRunner)
    assert bare._running_agents is not runner._running_agents
    assert not bare.interrupt("nobody")
    await bare.stop()
    runner.state.turn_workers.close()
    bare.state.turn_workers.close()


# Order and claims


@pytest.mark.asyncio
async def test_two_chats_in_one_conversation_take_turns(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        await gateway.telegram.receive("begin")
        session_id = gateway.store.peek_session_id(KEY)
        assert session_id is not None
        gateway.model.hold.clear()
        gateway.model.asked.clear()
        first = gateway.telegram.receive("from the phone")
        await until(gateway.model.asked.is_set)
        turn_id = await gateway.submit("from the desk", session_id)
        await until(lambda: bool(gateway.of(TurnQueued)))
        gateway.model.hold.set()
        await first
        await gateway.desktop.wait(turn_id)
        assert gateway.model.most_at_once == 1
        assert [text for _, text in gateway.rows(session_id)] == [
            "begin",
            "reply 1",
            "from the phone",
            "reply 2",
            "from the desk",
            "reply 3",
        ]
        assert gateway.model.texts()[-2:] == ["assistant: reply 2", "user: from the desk"]


@pytest.mark.asyncio
async def test_the_eleventh_turn_says_that_it_waits(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.model.hold.clear()
        turns = [await gateway.submit(f"chat {n}") for n in range(10)]
        await until(lambda: gateway.model.at_once == 10)
        assert gateway.of(TurnQueued) == []
        turns.append(await gateway.submit("one more"))
        await until(lambda: len(gateway.of(TurnQueued)) == 1)
        assert gateway.reports[-1].running_turns == 10
        gateway.model.hold.set()
        for turn_id in turns:
            assert (await gateway.desktop.wait(turn_id)).outcome == "done"


@pytest.mark.asyncio
async def test_a_rotation_is_followed(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.factory.kind = RotatingAgent
        await gateway.telegram.receive("one")
        old = gateway.of(TurnStarted)[0].session_id
        assert gateway.store.peek_session_id(KEY) == f"{old}-next"
        assert gateway.runner._agent_cache[KEY][3] == f"{old}-next"
        await gateway.telegram.receive("two")
        assert gateway.model.texts() == ["user: summary of before\n\ntwo"]
        assert len(gateway.factory.made) == 1


@pytest.mark.asyncio
async def test_the_row_after_a_rotation_belongs_to_the_chat(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.factory.kind = RotatingAgent
        await gateway.telegram.receive("one")
        session_id = gateway.store.peek_session_id(KEY)
        assert session_id is not None
        assert session_id.endswith("-next")
        row = gateway.db.get_session(session_id)
        assert (row["session_key"], row["chat_id"], row["user_id"]) == (KEY, "c1", "u1")
        stored = gateway.db.load_gateway_routing_entries(scope=gateway.store._files.scope)
        assert json.loads(stored[KEY])["session_id"] == session_id


# Life cycle


@pytest.mark.asyncio
async def test_the_state_is_announced(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        await gateway.say("hello")
    states = [(report.phase, report.running_turns) for report in gateway.reports]
    assert states == [
        ("starting", 0),
        ("running", 0),
        ("running", 1),
        ("running", 0),
        ("stopping", 0),
        ("stopped", 0),
    ]


@pytest.mark.asyncio
async def test_leaving_waits_for_what_runs(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.model.hold.clear()
        turn_id = await gateway.submit("hello")
        await until(gateway.model.asked.is_set)
        stopping = asyncio.ensure_future(gateway.runner.stop(drain_s=10))
        await until(lambda: gateway.reports[-1].phase == "stopping")
        waiting = gateway.desktop.wait(turn_id)
        gateway.model.hold.set()
        assert (await waiting).outcome == "done"
        await stopping
        assert gateway.model.closed == 1
        assert not gateway.telegram.connected


@pytest.mark.asyncio
async def test_leaving_interrupts_after_the_bound_and_refuses_what_waits(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        session_id = (await gateway.say("hello")).session_id
        gateway.model.hold.clear()
        gateway.model.asked.clear()
        running = await gateway.submit("runs", session_id)
        await until(gateway.model.asked.is_set)
        queued = await gateway.submit("waits", session_id)
        await asyncio.gather(gateway.runner.stop(drain_s=0), gateway.runner.stop(drain_s=0))
        assert (await gateway.desktop.wait(running)).outcome == "stopped"
        refused = await gateway.desktop.wait(queued)
        assert (refused.outcome, refused.stored) == ("failed", False)
        assert gateway.rows(session_id)[-1] == ("user", "runs")


@pytest.mark.asyncio
async def test_a_turn_that_hears_nothing_is_left_behind(tmp_path: Path) -> None:
    DeafAgent.wakes.clear()
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.runner.state.interrupt_grace_s = 0.05
        gateway.factory.kind = DeafAgent
        turn_id = await gateway.submit("hello")
        await until(lambda: bool(gateway.factory.made))
        await until(lambda: bool(gateway.of(TurnStarted)))
        behind = await gateway.submit("waits", gateway.of(TurnStarted)[0].session_id)
        await gateway.runner.stop(drain_s=0)
        left = await gateway.desktop.wait(turn_id)
        refused = await gateway.desktop.wait(behind)
        assert (left.outcome, left.stored) == ("stopped", False)
        assert (refused.outcome, refused.stored) == ("failed", False)
        assert "closing" in refused.error_title
        assert gateway.reports[-1].phase == "stopped"
        DeafAgent.wakes.set()


@pytest.mark.asyncio
async def test_a_platform_that_cannot_be_reached_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        await gateway.runner.stop()
        gateway.telegram.failure = OSError("no network")
        await gateway.runner.start()
        assert "Connecting telegram failed" in caplog.text
        assert (await gateway.say("hello")).outcome == "done"
