"""What got lost when a gateway was killed and came back later."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.access.refusals import closing
from hermes_desktop.gateway.config.gateway_config import SessionResetPolicy
from hermes_desktop.gateway.delivery.resume_after_restart import PROMPT, SEND_AGAIN
from hermes_desktop.gateway.delivery.sending import SendPolicy
from hermes_desktop.gateway.runner.state import MAX_TURNS
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock
from tests.fakes.gateway import ALLOWED, RunningGateway, running_gateway
from tests.fakes.hosting import host_stage
from tests.fakes.model_server import HANG, Reply
from tests.fakes.plugins import EventHooks
from tests.fakes.socket_gateway import socket_gateway
from tests.fakes.socket_platform import chat_server
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"
IDLE = replace(ALLOWED, default_reset_policy=SessionResetPolicy(mode="idle", idle_minutes=30))


def sent(gateway: RunningGateway) -> list[str]:
    return [text for _, text in gateway.telegram.sent]


async def cut_off(home: Path, clock: MovableClock) -> str:
    """A gateway that leaves in the middle of a turn; the conversation."""
    async with running_gateway(home / "state.db", hosted=True, config=IDLE, clock=clock) as gateway:
        gateway.model.hold.clear()
        running = gateway.telegram.receive("long")
        await until(gateway.model.asked.is_set)
        await gateway.runner.stop(drain_s=0.0)
        await running
        return gateway.store.peek_session_id(KEY) or ""


@pytest.mark.asyncio
async def test_what_was_cut_off_is_answered_where_it_was_asked(tmp_path: Path) -> None:
    """The chat expired while the gateway was away: a new conversation was asked to go on, with
    nothing, and the question was never answered.
    """
    clock = MovableClock()
    session_id = await cut_off(tmp_path, clock)
    clock.advance(40 * 60)
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock
    ) as gateway:
        await gateway.telegram.receive("and this")
        await until(lambda: sent(gateway) == ["reply 1", "reply 2"])
        assert gateway.store.peek_session_id(KEY) == session_id
        (first,) = gateway.model.texts(0)
        assert first.startswith("user: long\n")
        assert first.endswith(PROMPT)
        clock.advance(31 * 60)
        await gateway.telegram.receive("later")
        assert gateway.store.peek_session_id(KEY) != session_id


@pytest.mark.asyncio
async def test_a_question_whose_conversation_was_ended_meanwhile_is_not_forgotten(
    tmp_path: Path,
) -> None:
    """As above, but another gateway had dealt with the end of the conversation meanwhile."""
    clock = MovableClock()
    await cut_off(tmp_path, clock)
    clock.advance(40 * 60)
    db = SessionDB(tmp_path / "state.db", clock=clock)
    store = SessionStore(tmp_path / "sessions", IDLE, db=db, clock=clock)
    (entry,) = store.list_sessions()
    store.set_expiry_finalized(entry)
    db.close()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock
    ) as gateway:
        await until(lambda: sent(gateway) == [SEND_AGAIN])
        assert gateway.model.requests == []
        await gateway.telegram.receive("long")
        assert gateway.model.texts()[0].endswith("\n\nlong")


@pytest.mark.two_processes
@pytest.mark.asyncio
async def test_what_waits_while_the_gateway_restarts_is_answered_afterwards(
    tmp_path: Path,
) -> None:
    """People were told to write again, although the gateway was back after a moment."""
    queue = {"display": {"busy_input_mode": "queue", "busy_ack_enabled": False}}
    async with host_stage(tmp_path, config=queue) as stage:
        await stage.host.start()
        stage.model.script(Reply([HANG]))
        stage.chat.say("first")
        await stage.until(lambda: stage.model.requests)
        restarting = asyncio.create_task(stage.host.restart(drain_s=1.0))
        stage.chat.say("second")
        await stage.reach("stopping")
        stage.chat.say("third")
        await restarting
        await stage.until(lambda: len(stage.chat.texts()) == 3 and not stage.chat.pending)
        assert [text[: len("You said")] for text in stage.chat.texts()] == ["You said"] * 3
        assert [text for text in stage.chat.texts() if "second" in text or "third" in text]


class BusyMachine(EventHooks):
    """When a conversation begins, every worker has something else to do for a while."""

    def __init__(self, workers: WorkerThreads) -> None:
        super().__init__()
        self.may_go_on = threading.Event()
        self._workers = workers

    async def emit(self, event_type: str, context: dict[str, Any]) -> None:
        await super().emit(event_type, context)
        if event_type == "session:start":
            for _ in range(MAX_TURNS):
                self._workers.submit(lambda: self.may_go_on.wait(60))


@pytest.mark.asyncio
async def test_a_message_whose_turn_was_only_claimed_when_we_left_is_answered(
    tmp_path: Path,
) -> None:
    """A slow machine had not begun to prepare the turn: it was ended, and nobody heard of it."""
    async with chat_server() as chat:
        async with socket_gateway(tmp_path, chat.port) as gateway:
            runner = gateway.runner
            runner.hooks = busy = BusyMachine(runner.state.turn_workers)
            runner.state.interrupt_grace_s = 0.1
            chat.say("hello")
            await until(lambda: "session:start" in busy.names())
            await runner.stop(0.0)
            busy.may_go_on.set()
            assert gateway.model.requests == []
            assert gateway.unsettled()
        async with socket_gateway(tmp_path, chat.port) as gateway:
            await until(lambda: chat.texts() == ["reply 1"] and gateway.is_idle)
            assert gateway.model.texts()[-1].endswith("hello")
        assert chat.pending == {}


async def no_pause(_: float) -> None:
    await asyncio.sleep(0.01)


@pytest.mark.asyncio
async def test_a_refusal_arrives_although_the_platform_is_gone(tmp_path: Path) -> None:
    """A message that met a busy chat while we left was refused with words that nobody was owed."""
    hasty = SendPolicy(pause=no_pause, send_timeout_s=2.0, jitter=lambda: 0.0)
    async with chat_server() as chat:
        async with socket_gateway(tmp_path, chat.port, send_policy=hasty) as gateway:
            gateway.model.hold.clear()
            chat.say("long")
            await until(gateway.model.asked.is_set)
            leaving = asyncio.create_task(gateway.runner.stop(5.0))
            await until(lambda: gateway.runner._draining)
            for _ in range(3):
                chat.refuse("transient", retryable=True)
            second = chat.say("second")
            await until(lambda: second in chat.acked)
            assert chat.texts() == []
            gateway.model.hold.set()
            await leaving
        async with socket_gateway(tmp_path, chat.port) as gateway:
            # Three when the refusal just arrived while it was cut off: once more, and saying so.
            await until(lambda: len(chat.texts()) >= 2 and gateway.is_idle)
        assert str(closing().title) in "\n".join(chat.texts())
        assert "reply 1" in chat.texts()
