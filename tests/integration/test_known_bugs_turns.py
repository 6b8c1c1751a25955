"""What went wrong with turns and conversations in other gateways, and must not here."""

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_desktop.agent.types import AgentRequest
from hermes_desktop.core.events import SessionReset
from hermes_desktop.gateway.config.gateway_config import SessionResetPolicy
from tests.fakes.clock import MovableClock
from tests.fakes.command_gateway import command_gateway
from tests.fakes.gateway import ALLOWED, RunningGateway, running_gateway
from tests.fakes.plugins import EventHooks, listening
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"
IDLE = replace(ALLOWED, default_reset_policy=SessionResetPolicy(mode="idle", idle_minutes=60))


def sent(gateway: RunningGateway) -> list[str]:
    return [text for _, text in gateway.telegram.sent]


@pytest.mark.asyncio
async def test_an_agent_that_comes_late_replaces_no_newer_one(tmp_path: Path) -> None:
    """#103452: a stopped turn's agent, made slowly, was kept over the one of the next turn."""
    may_go, began = threading.Event(), threading.Event()

    def make_slowly(_request: AgentRequest) -> None:
        if not began.is_set():
            began.set()
            assert may_go.wait(60)

    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.factory.on_make = make_slowly
        first = gateway.telegram.receive("first")
        await until(began.is_set)
        assert await gateway.runner.parts.control.stop_turn(KEY)
        second = gateway.telegram.receive("second")
        await until(lambda: len(gateway.factory.made) == 1)
        await second
        newer = gateway.runner._agent_cache[KEY][0]
        may_go.set()
        await first
        await until(lambda: len(gateway.factory.made) == 2)
        await until(lambda: gateway.runner.chats.turns == {})
        assert gateway.runner._agent_cache[KEY][0] is newer
        assert gateway.model.requests[-1].messages[-1]["content"] == "second"
        assert len(gateway.model.requests) == 1


@pytest.mark.asyncio
async def test_what_was_cut_off_and_a_new_message_are_two_turns_of_one_agent(
    tmp_path: Path,
) -> None:
    """#45456: what a start takes up and what a person writes meanwhile were answered at once."""
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.model.hold.clear()
        running = gateway.telegram.receive("long")
        await until(gateway.model.asked.is_set)
        await gateway.runner.stop(drain_s=0.0)
        await running
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await gateway.telegram.receive("and this")
        await until(lambda: sent(gateway) == ["reply 1", "reply 2"])
        assert gateway.model.most_at_once == 1
        assert len(gateway.factory.made) == 1


@pytest.mark.asyncio
async def test_an_end_that_was_told_is_not_told_again_after_a_restart(tmp_path: Path) -> None:
    """#2506: every restart told plugins of the end of the same conversations again."""
    clock = MovableClock()
    parts = {"hosted": True, "config": IDLE, "clock": clock}
    async with running_gateway(tmp_path / "state.db", **parts) as gateway:
        await gateway.telegram.receive("one")
        clock.advance(3601)
        with listening() as heard:
            await gateway.runner.parts.housekeeping.check()
        assert len(heard.calls) == 1
    with listening() as heard:
        async with running_gateway(tmp_path / "state.db", **parts) as gateway:
            await gateway.runner.parts.housekeeping.check()
            assert heard.calls == []


@pytest.mark.asyncio
async def test_event_hooks_hear_of_every_end(tmp_path: Path) -> None:
    """#28746: ``session:end`` came with ``/new`` only, not with ends that nobody asked for."""
    clock, events = MovableClock(), EventHooks()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock, hooks=events
    ) as gateway:
        await gateway.telegram.receive("one")
        clock.advance(3601)
        await gateway.telegram.receive("two")
        assert events.names().count("session:end") == 1
        clock.advance(3601)
        await gateway.runner.parts.housekeeping.check()
        assert events.names().count("session:end") == 2
        assert len(gateway.of(SessionReset)) >= 1


@pytest.mark.asyncio
async def test_a_new_conversation_stays_new_whatever_the_mirror_says(tmp_path: Path) -> None:
    """#61993, #61220: after a restart ``/new`` was undone by a mirror that was written before."""
    mirror = tmp_path / "sessions" / "sessions.json"
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await gateway.telegram.receive("one")
        await until(lambda: "session_id" in mirror.read_text())
        old = mirror.read_text()
        before = gateway.store.peek_session_id(KEY)
        assert gateway.store.reset_session(KEY) is not None
        new = gateway.store.peek_session_id(KEY)
        assert before != new
    mirror.write_text(old)
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await gateway.telegram.receive("two")
        assert gateway.store.peek_session_id(KEY) == new
        assert gateway.model.texts() == ["user: two"]


@pytest.mark.asyncio
async def test_the_mirror_says_that_it_is_not_the_list_of_sessions(tmp_path: Path) -> None:
    """#49361, #51726: people and tools took ``sessions.json`` for the list of all conversations."""
    mirror = tmp_path / "sessions" / "sessions.json"
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await gateway.telegram.receive("one")
    data = json.loads(mirror.read_text())
    assert next(iter(data)) == "_README"
    assert "state.db" in data["_README"]
    assert "hermes sessions list" in data["_README"]
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.store._ensure_loaded()
        assert list(gateway.store._entries) == [KEY]


@pytest.mark.asyncio
async def test_after_stop_the_next_message_gets_an_answer(tmp_path: Path) -> None:
    """#31884, #44212: the agent kept its wish to stop, and the next message was swallowed."""
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        for number in range(1, 4):
            gateway.model.hold.clear()
            gateway.model.asked.clear()
            running = gateway.telegram.receive(f"long {number}")
            await until(gateway.model.asked.is_set)
            assert await gateway.runner.parts.control.stop_turn(KEY)
            await running
            gateway.model.hold.set()
            answer = await gateway.telegram.receive(f"short {number}")
            assert answer == f"reply {2 * number}"


@pytest.mark.asyncio
async def test_a_row_of_agents_in_one_conversation_waits_for_each_other(tmp_path: Path) -> None:
    """#64934: two chats that led to one conversation wrote into it at once."""
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await gateway.telegram.receive("one")
        session_id = gateway.store.peek_session_id(KEY)
        await gateway.telegram.receive("other", chat_id="c2")
        other = "agent:main:telegram:dm:c2"
        assert session_id is not None
        assert gateway.store.switch_session(other, session_id) is not None
        texts = [
            gateway.telegram.receive(f"m{number}", chat_id=f"c{1 + number % 2}")
            for number in range(6)
        ]
        await asyncio.gather(*texts)
        assert gateway.model.most_at_once == 1
        roles = [role for role, _ in gateway.rows(session_id)]
        assert roles == ["user", "assistant"] * 7


@pytest.mark.asyncio
async def test_a_group_is_not_shown_what_its_members_said_elsewhere(tmp_path: Path) -> None:
    """``/sessions`` told a group the first words of private conversations of who wrote it."""
    async with command_gateway(tmp_path) as chat:
        await chat.tell("my secret")
        group = {"chat_id": "g1", "chat_type": "group"}
        await chat.tell("hello all", **group)
        assert "my secret" in await chat.tell("/sessions")
        listed = await chat.tell("/sessions", **group)
        assert "hello all" in listed
        assert "my secret" not in listed
        assert "my secret" in await chat.tell("/sessions --all", **group)
