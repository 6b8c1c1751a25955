"""What a chat says while its turn runs: told in time, answered next, or kept for the next run."""

import asyncio
import random
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.core.events import TurnFinished, TurnStarted
from hermes_desktop.core.text.stored_text import split_hints
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, RunningSettings
from tests.fakes.command_gateway import KEY, CommandGateway, command_gateway
from tests.fakes.gateway import ALLOWED, running_gateway
from tests.fakes.socket_gateway import socket_gateway
from tests.fakes.socket_platform import chat_server
from tests.fakes.tool_stage import ToolStage, call
from tests.support.waiting import until

STEERING = replace(ALLOWED, running=RunningSettings(busy_input_mode="steer"))


def with_tools(stage: ToolStage) -> type[AIAgent]:
    """Agents that have tools; they touch nothing of the conversations under test."""

    class WithTools(AIAgent):
        def __init__(self, **parts: Any) -> None:
            super().__init__(**{**parts, "tools": stage.tools()})

    return WithTools


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    made = ToolStage(tmp_path / "tools")
    yield made
    made.close()


async def begun(chat: CommandGateway, text: str = "long") -> "asyncio.Task[str | None]":
    """A turn that runs: its model is asked and does not answer yet."""
    model = chat.gateway.model
    model.hold.clear()
    model.asked.clear()
    running = chat.start(text)
    await until(model.asked.is_set)
    return running


def results(chat: CommandGateway) -> list[str]:
    rows = chat.gateway.db.get_messages(chat.session_id())
    return [row["content"] for row in rows if row["role"] == "tool"]


@pytest.mark.asyncio
async def test_the_running_turn_is_told_behind_its_next_tool(
    tmp_path: Path, stage: ToolStage
) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        chat.gateway.factory.kind = with_tools(stage)
        chat.gateway.model.calls.append((call("todo"),))
        running = await begun(chat)
        assert await chat.tell("/steer rather tea") == "I will take that into account in my reply."
        chat.gateway.model.hold.set()
        assert await running == "reply 2"
        assert [split_hints(each)[1] for each in results(chat)] == ["rather tea"]
        assert [event.prompt for event in chat.gateway.of(TurnStarted)] == ["long"]
        await until(lambda: not chat.gateway.runner.state.queued_turns)


@pytest.mark.asyncio
async def test_what_no_tool_came_for_is_answered_next(tmp_path: Path, stage: ToolStage) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        chat.gateway.factory.kind = with_tools(stage)
        running = await begun(chat)
        await chat.tell("/steer rather tea")
        chat.gateway.model.hold.set()
        await running
        await until(lambda: len(chat.gateway.of(TurnFinished)) == 2)
        assert chat.texts() == ["long", "reply 1", "rather tea", "reply 2"]
        await until(lambda: not chat.gateway.runner.state.queued_turns)


@pytest.mark.asyncio
async def test_idle_it_is_a_message_and_without_words_nothing(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        assert await chat.tell("/steer hello") == "reply 1"
        assert chat.texts() == ["hello", "reply 1"]
        assert "There is no message." in (await chat.tell("/steer"))


@pytest.mark.asyncio
async def test_an_agent_that_only_talks_answers_it_next(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        running = await begun(chat)
        assert "I will answer this next." in await chat.tell("/steer rather tea")
        chat.gateway.model.hold.set()
        await running
        await until(lambda: len(chat.gateway.of(TurnFinished)) == 2)
        assert chat.texts()[2:] == ["rather tea", "reply 2"]


@pytest.mark.asyncio
async def test_stop_drops_what_was_not_told_yet(tmp_path: Path, stage: ToolStage) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        chat.gateway.factory.kind = with_tools(stage)
        running = await begun(chat)
        await chat.tell("/steer rather tea")
        assert "Stopped." in await chat.tell("/stop")
        await running
        chat.gateway.model.hold.set()
        assert await chat.tell("and now?") == "reply 2"
        assert "rather tea" not in "".join(chat.texts())
        assert not chat.gateway.runner.state.queued_turns


@pytest.mark.asyncio
async def test_every_message_steers_where_that_is_set(tmp_path: Path, stage: ToolStage) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True, config=STEERING) as gateway:
        gateway.factory.kind = with_tools(stage)
        gateway.model.calls.append((call("todo"),))
        gateway.model.hold.clear()
        running = gateway.telegram.receive("long")
        await until(gateway.model.asked.is_set)
        said = [gateway.telegram.receive(text) for text in ("one", "two")]
        await asyncio.gather(*said)
        gateway.model.hold.set()
        await running
        session_id = gateway.store.peek_session_id(KEY) or ""
        tools = [text for role, text in gateway.rows(session_id) if role == "tool"]
        assert [split_hints(each)[1] for each in tools] == ["one\n\ntwo"]
        assert gateway.telegram.sent[0][1].startswith("I will take that into account")


@pytest.mark.asyncio
async def test_in_the_window_what_was_not_told_is_a_turn_of_its_own(
    tmp_path: Path, stage: ToolStage
) -> None:
    async with command_gateway(tmp_path) as chat:
        gateway = chat.gateway
        gateway.factory.kind = with_tools(stage)
        gateway.model.hold.clear()
        turn_id = await gateway.submit("long")
        await until(gateway.model.asked.is_set)
        [started] = gateway.of(TurnStarted)
        said = await gateway.say("/steer rather tea", started.session_id)
        assert said.reply == "I will take that into account in my reply."
        gateway.model.hold.set()
        await gateway.desktop.wait(turn_id)
        await until(lambda: [e.prompt for e in gateway.of(TurnStarted)][-1] == "rather tea")
        await until(lambda: not gateway.desktop.running(started.session_id))
        assert gateway.rows(started.session_id)[2:] == [
            ("user", "rather tea"),
            ("assistant", "reply 2"),
        ]


def _steering(config: GatewayConfig) -> GatewayConfig:
    return replace(config, running=RunningSettings(busy_input_mode="steer"))


@pytest.mark.asyncio
async def test_a_gateway_that_leaves_before_it_was_told_leaves_it_to_the_next(
    tmp_path: Path, stage: ToolStage
) -> None:
    async with chat_server() as chat:
        async with socket_gateway(tmp_path, chat.port) as gateway:
            gateway.runner.config = _steering(gateway.runner.config)
            kind = with_tools(stage)
            gateway.runner.state.agent_factory.kind = kind  # type: ignore[union-attr]
            gateway.model.hold.clear()
            chat.say("long", id="m1")
            await until(gateway.model.asked.is_set)
            chat.say("rather tea", id="m2")
            await until(lambda: "I will take that into account" in "".join(chat.texts()))
            # Whoever kills us now leaves it in the inbox.
            assert "rather tea" in "".join(gateway.unsettled())
            await gateway.runner.stop(0.0, restart=True)
        async with socket_gateway(tmp_path, chat.port) as gateway:
            await until(lambda: gateway.is_idle and len(gateway.model.requests) >= 1)
            rows = [row["content"] for row in gateway.db.get_messages(_session(gateway))]
            assert "rather tea" in "".join(map(str, rows))


def _session(gateway: Any) -> str:
    return next(iter(gateway.runner.session_store._entries.values())).session_id


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(6))
async def test_at_random_each_message_is_told_once(
    tmp_path: Path, stage: ToolStage, seed: int
) -> None:
    rng = random.Random(seed)
    async with running_gateway(tmp_path / "state.db", hosted=True, config=STEERING) as gateway:
        gateway.factory.kind = with_tools(stage)
        gateway.model.on_ask = lambda _request: threading.Event().wait(rng.random() * 0.01)
        messages = [f"message {seed}-{number:02}" for number in range(30)]
        tasks = []
        for text in messages:
            gateway.model.calls += [(call("todo"),)] if rng.random() < 0.6 else []
            tasks.append(gateway.telegram.receive(text))
            await asyncio.sleep(rng.random() * 0.012)
        await asyncio.gather(*tasks)
        state, chats = gateway.runner.state, gateway.runner.chats
        await until(lambda: not state.queued_turns and not chats.is_busy(KEY))
        await until(lambda: not len(state.message_tasks))
        rows = gateway.rows(gateway.store.peek_session_id(KEY) or "")
        told = "\n".join(text for role, text in rows if role in {"user", "tool"})
        assert {text: told.count(text) for text in messages} == dict.fromkeys(messages, 1)
        assert not gateway.runner.parts.incoming.tickets
