"""Chats whose conversations outgrow the model: they follow, are warned, and begin anew at last."""

import contextlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.compression.compression_turn import ContextLimiter
from hermes_desktop.agent.compression.context_compression import Compactor
from hermes_desktop.agent.context_length import ContextWindows
from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import AgentRequest, ModelChoice
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.gateway.turns.agent_cache import NOT_SHORTENED
from tests.fakes.command_gateway import KEY, CommandGateway, command_gateway
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.prompts import prompts_beside
from tests.support.waiting import until

IN_PLACE = CompressionSettings()
ROTATING = CompressionSettings(in_place=False)


@contextlib.asynccontextmanager
async def chat_at(
    tmp_path: Path,
    model: NarrowModel,
    settings: CompressionSettings,
    length: int | None = 10_000,
) -> AsyncIterator[CommandGateway]:
    """A hosted gateway whose agents ask a model on loopback."""
    with model.serve() as server:
        async with command_gateway(tmp_path, hosted=True) as chat:
            choice = ModelChoice("narrow", server.base_url, None, "x", "test", "openai", length)

            def make(request: AgentRequest) -> AIAgent:
                provider = OpenAICompatibleProvider(choice, retries=Retries(0))
                care = Compactor(
                    store=chat.gateway.db,
                    prompts=prompts_beside(chat.gateway.db),
                    provider=provider,
                    windows=ContextWindows(),
                    settings=settings,
                    clock=SystemClock(),
                )
                return AIAgent(
                    provider=provider,
                    store=chat.gateway.db,
                    prompts=prompts_beside(chat.gateway.db),
                    session_id=request.session_id,
                    source=request.source,
                    clock=SystemClock(),
                    session_fields=request.session_fields,
                    room=ContextLimiter(care, chat.gateway.db),
                )

            chat.gateway.runner.state.agent_factory = make
            yield chat


def fill(chat: CommandGateway, count: int, words: int = 60) -> None:
    for number in range(count):
        role = ("user", "assistant")[number % 2]
        chat.gateway.db.append_message(chat.session_id(), role, f"text {number} " + "word " * words)


@pytest.mark.asyncio
@pytest.mark.parametrize("settings", [IN_PLACE, ROTATING], ids=["in_place", "rotate"])
async def test_a_chat_that_outgrows_its_model_goes_on(
    tmp_path: Path, settings: CompressionSettings
) -> None:
    model = NarrowModel()
    async with chat_at(tmp_path, model, settings) as chat:
        assert await chat.tell("begin") == model.reply
        first = chat.session_id()
        fill(chat, 112)
        assert await chat.tell("and on") == model.reply
        assert model.summaries
        asked = len(model.summaries)
        moved = chat.session_id() != first
        assert moved is not settings.in_place
        entry = chat.gateway.store._entries[KEY]
        assert entry.session_id == chat.session_id()
        before = model.turns[-1]
        assert await chat.tell("once more") == model.reply
        assert model.turns[-1][: len(before)] == before
        assert len(model.summaries) == asked
        assert len(chat.gateway.db.list_sessions_rich()) == 1
        row = chat.gateway.db.get_session(chat.session_id())
        assert row is not None
        assert (row["session_key"], row["chat_id"]) == (KEY, "c1")
        assert row["origin_json"]
        routed = chat.gateway.db.load_gateway_routing_entries(
            scope=str(chat.gateway.store.sessions_dir.resolve())
        )
        assert chat.session_id() in routed[KEY]


@pytest.mark.asyncio
async def test_what_is_nearly_too_long_is_shortened_before_the_turn(tmp_path: Path) -> None:
    model = NarrowModel()
    async with chat_at(tmp_path, model, ROTATING) as chat:
        await chat.tell("begin")
        first = chat.session_id()
        fill(chat, 112)
        chat.gateway.store.update_session(KEY, last_prompt_tokens=9_200)
        assert await chat.tell("and on") == model.reply
        assert chat.session_id() == first  # before a turn it is done in place
        assert model.refusals == 0
        assert chat.texts()[-2] == "and on"


@pytest.mark.asyncio
async def test_a_chat_is_warned_when_no_summary_could_be_made(tmp_path: Path) -> None:
    model = NarrowModel(window=60_000, summary=None)
    async with chat_at(tmp_path, model, IN_PLACE) as chat:
        await chat.tell("begin")
        fill(chat, 112)
        chat.gateway.store.update_session(KEY, last_prompt_tokens=9_200)
        assert await chat.tell("and on") == model.reply
        told = [text for _, text in chat.gateway.telegram.sent]
        assert told.count(NOT_SHORTENED) == 1
        await chat.tell("and further")
        told = [text for _, text in chat.gateway.telegram.sent]
        assert told.count(NOT_SHORTENED) == 1  # not at each message


@pytest.mark.asyncio
async def test_what_cannot_be_shortened_begins_anew(tmp_path: Path) -> None:
    model = NarrowModel(window=700)
    async with chat_at(tmp_path, model, IN_PLACE, length=None) as chat:
        await chat.tell("begin")
        first = chat.session_id()
        answer = await chat.tell("long " * 2_000)
        assert answer is not None
        assert "context window" in answer
        assert chat.session_id() != first
        assert await chat.tell("short again") == model.reply


@pytest.mark.asyncio
async def test_where_a_turn_goes_on_no_other_begins(tmp_path: Path) -> None:
    model = NarrowModel()
    async with chat_at(tmp_path, model, ROTATING) as chat:
        await chat.tell("begin")
        first = chat.session_id()
        fill(chat, 112)
        runner = chat.gateway.runner
        held: list[str] = []

        def look() -> None:
            tip = chat.gateway.db.get_compression_tip(first)
            for _ in range(500):
                if runner.state.turn_leases.is_held(tip):
                    held.append(tip)
                    break
                threading.Event().wait(0.01)

        model.on_turn = look
        assert await chat.tell("and on") == model.reply
        assert chat.session_id() != first
        assert held == [chat.session_id()]
        await until(lambda: not runner.state.turn_leases.is_held(chat.session_id()))


@pytest.mark.asyncio
async def test_the_window_goes_on_where_the_conversation_does(tmp_path: Path) -> None:
    model = NarrowModel()
    async with chat_at(tmp_path, model, ROTATING) as chat:
        gateway = chat.gateway
        first = (await gateway.say("begin")).session_id
        for number in range(112):
            role = ("user", "assistant")[number % 2]
            gateway.db.append_message(first, role, f"text {number} " + "word " * 60)
        finished = await gateway.say("and on", first)
        assert (finished.outcome, finished.reply) == ("done", model.reply)
        assert finished.session_id == gateway.db.get_compression_tip(first) != first
        later = await gateway.say("once more", finished.session_id)
        assert later.session_id == finished.session_id
        by_the_old_id = await gateway.say("and by the old id", first)
        assert by_the_old_id.session_id == finished.session_id
        texts = [each["content"] for each in gateway.db.get_messages(finished.session_id)]
        assert [text for text in texts if text.startswith(("and", "once"))] == [
            "and on",
            "once more",
            "and by the old id",
        ]
        assert len(gateway.db.list_sessions_rich()) == 1
