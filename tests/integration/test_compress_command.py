"""``/compress`` in a chat: a real runner, a real store, a model on loopback."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.compression.context_compression import Compactor
from hermes_desktop.agent.context_length import ContextWindows
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.gateway.commands.command_dispatch import CommandDispatch
from tests.fakes.command_gateway import CommandGateway, command_gateway
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.prompts import prompts_beside


@contextlib.asynccontextmanager
async def chat_with_model(
    tmp_path: Path, model: NarrowModel, settings: CompressionSettings | None = None
) -> AsyncIterator[CommandGateway]:
    """A gateway with a conversation of 40 messages, whose commands can ask a model."""
    with model.serve() as server:
        async with command_gateway(tmp_path) as chat:
            choice = ModelChoice("narrow", server.base_url, None, "custom", "a test")

            def care(_: Any) -> Compactor:
                return Compactor(
                    store=chat.gateway.db,
                    prompts=prompts_beside(chat.gateway.db),
                    provider=OpenAICompatibleProvider(choice),
                    windows=ContextWindows(),
                    settings=settings or CompressionSettings(),
                    clock=SystemClock(),
                )

            dispatch = chat.gateway.runner.state.command_dispatch
            assert isinstance(dispatch, CommandDispatch)
            dispatch._facts = replace(dispatch._facts, care=care)
            await chat.tell("begin")
            for number in range(38):
                role = ("user", "assistant")[number % 2]
                chat.gateway.db.append_message(
                    chat.session_id(), role, f"text {number} " + "word " * 40
                )
            yield chat


@pytest.mark.asyncio
async def test_in_place(tmp_path: Path) -> None:
    model = NarrowModel()
    async with chat_with_model(tmp_path, model) as chat:
        session_id = chat.session_id()
        answer = await chat.tell("/compress the numbers")
        assert "A summary now replaces" in answer
        assert "the numbers" in str(model.summaries[0].messages)
        assert chat.session_id() == session_id
        assert 4 < len(chat.texts()) < 30
        await chat.tell("and on")
        assert model.summary is not None
        assert model.summary in "".join(chat.gateway.model.texts())
        assert chat.gateway.model.texts()[-1].endswith("and on")


@pytest.mark.asyncio
async def test_the_chat_follows_a_rotation(tmp_path: Path) -> None:
    rotating = CompressionSettings(in_place=False)
    async with chat_with_model(tmp_path, NarrowModel(), rotating) as chat:
        old = chat.session_id()
        assert "A summary now replaces" in await chat.tell("/compact")
        new = chat.session_id()
        assert new != old
        await chat.tell("and on")
        assert chat.texts()[-2] == "and on"
        row = chat.gateway.db.get_session(new)
        assert row is not None
        assert (row["parent_session_id"], row["chat_id"]) == (old, "c1")
        assert len(chat.gateway.db.list_sessions_rich()) == 1


@pytest.mark.asyncio
async def test_a_preview_and_here(tmp_path: Path) -> None:
    model = NarrowModel()
    async with chat_with_model(tmp_path, model) as chat:
        before = chat.texts()
        assert "Nothing was changed" in await chat.tell("/compress --preview here 3")
        assert chat.texts() == before
        assert not model.summaries
        assert "A summary now replaces" in await chat.tell("/compress here 3")
        assert chat.texts()[-6:] == before[-6:]
        assert "number of exchanges" in await chat.tell("/compress here 0")


@pytest.mark.asyncio
async def test_no_success_is_claimed_when_nothing_could_be_written(tmp_path: Path) -> None:
    async with chat_with_model(tmp_path, NarrowModel()) as chat:
        before = chat.texts()
        trigger = (
            "CREATE TRIGGER full BEFORE UPDATE OF active ON messages "
            "BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        chat.gateway.db._execute_write(lambda conn: conn.execute(trigger))
        answer = await chat.tell("/compress")
        assert "A summary now replaces" not in answer
        assert chat.texts() == before
        chat.gateway.db._execute_write(lambda conn: conn.execute("DROP TRIGGER full"))
        assert chat.gateway.db.get_compression_lock_holder(chat.session_id()) is None


@pytest.mark.asyncio
async def test_why_it_was_not_done_is_said(tmp_path: Path) -> None:
    async with chat_with_model(tmp_path, NarrowModel(summary=None)) as chat:
        assert "A summary" not in await chat.tell("/compress")
        assert chat.gateway.db.get_compression_failure_cooldown(chat.session_id()) is None
        chat.gateway.db.try_acquire_compression_lock(chat.session_id(), "pid=1")
        assert "already being compressed" in await chat.tell("/compress")
        await chat.tell("/new")
        await chat.tell("hello")
        assert "too short" in await chat.tell("/compress")


@pytest.mark.asyncio
async def test_what_stops_it_does_not_wait_behind_it(tmp_path: Path) -> None:
    model = NarrowModel()
    asked, may_go_on = threading.Event(), threading.Event()

    def slowly() -> None:
        asked.set()
        assert may_go_on.wait(60)

    async with chat_with_model(tmp_path, model) as chat:
        model.on_summary = slowly
        shortening = chat.start("/compress")
        await asyncio.to_thread(asked.wait, 20)
        assert not shortening.done()
        assert await chat.tell("/stop") == ""
        assert await shortening == "Stopped. The session was not changed."
        may_go_on.set()
        assert len(chat.gateway.rows(chat.session_id())) == 40
        assert chat.gateway.runner.chats.view("long_command") == {}
        assert "No reply is being written here." in await chat.tell("/stop")
