"""Messages that come while their chat is being answered."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.events import TurnFinished, TurnQueued
from hermes_desktop.gateway.access.refusals import closing
from hermes_desktop.gateway.config.config_running import BusyInputMode
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, RunningSettings
from hermes_desktop.gateway.platforms.base import MessageEvent, SendResult
from hermes_desktop.gateway.runner.queue import ACK_INTERVAL_S, MAX_QUEUED
from tests.fakes.agents import DeafAgent
from tests.fakes.clock import MovableClock
from tests.fakes.gateway import ALLOWED, RunningGateway, running_gateway
from tests.fakes.platform import FakePlatform
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"


def mode(name: BusyInputMode, **settings: Any) -> GatewayConfig:
    return replace(ALLOWED, running=RunningSettings(busy_input_mode=name, **settings))


async def busy(gateway: RunningGateway, text: str = "long") -> "asyncio.Task[str | None]":
    """A turn that runs and has stored its message."""
    gateway.model.hold.clear()
    gateway.model.asked.clear()
    running = gateway.telegram.receive(text)
    await until(gateway.model.asked.is_set)
    return running


def sent(gateway: RunningGateway) -> list[str]:
    return [text for _, text in gateway.telegram.sent]


def outcomes(gateway: RunningGateway) -> list[tuple[str, str]]:
    return [(event.turn_id, event.outcome) for event in gateway.of(TurnFinished)]


@pytest.mark.asyncio
async def test_a_new_message_ends_the_running_turn_and_is_answered(tmp_path: Path) -> None:
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=mode("interrupt")
    ) as gateway:
        running = await busy(gateway)
        second = gateway.telegram.receive("rather this")
        await running
        gateway.model.hold.set()
        await second
        assert outcomes(gateway) == [("turn long", "stopped"), ("turn rather this", "done")]
        acknowledgement, reply = sent(gateway)
        assert acknowledgement.startswith("I will stop the current reply")
        assert reply == "reply 2"
        assert gateway.model.texts() == ["user: long\n\nrather this"]


@pytest.mark.asyncio
async def test_a_turn_that_has_not_stored_its_message_is_not_interrupted(tmp_path: Path) -> None:
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=mode("interrupt")
    ) as gateway:
        gateway.model.hold.clear()
        turns = [gateway.telegram.receive(text) for text in ("one", "two", "three")]
        await until(lambda: len(gateway.runner.chats.waiting.get(KEY, ())) == 2)
        gateway.model.hold.set()
        await asyncio.gather(*turns)
        session_id = gateway.store.peek_session_id(KEY) or ""
        said = [text for role, text in gateway.rows(session_id) if role == "user"]
        assert said == ["one", "two", "three"]


class SlowDelivery(FakePlatform):
    """A platform that takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.takes = asyncio.Event()

    async def send(self, chat_id: str, text: str, **more: Any) -> SendResult:
        if text == "reply 1":
            await self.takes.wait()
        return await super().send(chat_id, text, **more)


@pytest.mark.asyncio
async def test_a_reply_on_its_way_is_not_interrupted(tmp_path: Path) -> None:
    telegram = SlowDelivery()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=mode("interrupt"), telegram=telegram
    ) as gateway:
        first = telegram.receive("one")
        await until(lambda: bool(gateway.of(TurnFinished)))
        second = telegram.receive("two")
        await until(lambda: bool(telegram.sent))
        telegram.takes.set()
        await asyncio.gather(first, second)
        assert sent(gateway)[0].startswith("I will answer this next")
        assert sent(gateway)[1:] == ["reply 1", "reply 2"]


@pytest.mark.asyncio
async def test_messages_wait_in_order_and_get_one_turn_each(tmp_path: Path) -> None:
    clock = MovableClock()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=mode("queue"), clock=clock
    ) as gateway:
        running = await busy(gateway)
        waiting = [gateway.telegram.receive(f"m{number}") for number in range(3)]
        await until(lambda: len(gateway.runner.chats.waiting.get(KEY, ())) == 3)
        await until(lambda: bool(gateway.telegram.sent))
        clock.advance(ACK_INTERVAL_S + 60)
        late = gateway.telegram.receive("m3")
        await until(lambda: len(gateway.telegram.sent) == 2)
        gateway.model.hold.set()
        await asyncio.gather(running, *waiting, late)
        first, second = sent(gateway)[:2]
        assert first.startswith("I will answer this next")
        assert "after 3 others (running for 1 min)" in second
        assert sent(gateway)[2:] == [f"reply {number}" for number in range(1, 6)]
        assert [turn_id for turn_id, _ in outcomes(gateway)] == [
            "turn long",
            *(f"turn m{number}" for number in range(4)),
        ]
        assert gateway.runner.chats.waiting == {}


@pytest.mark.asyncio
async def test_too_many_waiting_messages_are_refused_and_said_so(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", config=mode("queue")) as gateway:
        running = await busy(gateway)
        waiting = [gateway.telegram.receive(f"m{number}") for number in range(MAX_QUEUED)]
        await until(lambda: len(gateway.runner.chats.waiting.get(KEY, ())) == MAX_QUEUED)
        refused = await gateway.telegram.receive("one too many")
        assert refused is not None
        assert "not accepted" in refused
        assert "/stop" in refused
        with pytest.raises(Exception, match="not accepted"):
            await gateway.runner.parts.queue.add(
                MessageEvent("again", source=gateway.store._entries[KEY].origin)
            )
        assert await gateway.runner.parts.control.stop_turn(KEY)
        gateway.model.hold.set()
        await asyncio.gather(running, *waiting)
        assert len(gateway.model.requests) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("protection", ["compressing", "subagents"])
async def test_what_must_not_be_cut_in_two_is_not_interrupted(
    tmp_path: Path, protection: str
) -> None:
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=mode("interrupt")
    ) as gateway:
        running = await busy(gateway)
        session_id = gateway.store.peek_session_id(KEY) or ""
        if protection == "compressing":
            assert gateway.db.try_acquire_compression_lock(session_id, "somebody")
        else:
            gateway.factory.made[0]._active_children = ["helper"]  # type: ignore[attr-defined]
        second = gateway.telegram.receive("two")
        await until(lambda: bool(gateway.telegram.sent))
        assert sent(gateway)[0].startswith("I will answer this next")
        gateway.model.hold.set()
        await asyncio.gather(running, second)
        assert [outcome for _, outcome in outcomes(gateway)] == ["done", "done"]


@pytest.mark.asyncio
async def test_a_stranger_does_not_disturb_a_running_turn(tmp_path: Path) -> None:
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=mode("interrupt")
    ) as gateway:
        running = await busy(gateway)
        assert await gateway.telegram.receive("stop that", user_id="u2") is None
        assert not gateway.runner.chats.turns[KEY].stop_requested
        gateway.model.hold.set()
        await running
        assert sent(gateway) == ["reply 1"]


@pytest.mark.asyncio
async def test_the_window_always_queues(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", config=mode("interrupt")) as gateway:
        session_id = (await gateway.say("hello")).session_id
        gateway.model.hold.clear()
        gateway.model.asked.clear()
        first = await gateway.submit("one", session_id)
        await until(gateway.model.asked.is_set)
        second = await gateway.submit("two", session_id)
        await until(lambda: len(gateway.of(TurnQueued)) == 1)
        gateway.model.hold.set()
        assert (await gateway.desktop.wait(first)).outcome == "done"
        assert (await gateway.desktop.wait(second)).outcome == "done"


@pytest.mark.asyncio
@pytest.mark.parametrize("takes_it", [True, False])
async def test_an_agent_that_can_be_steered_is_told(tmp_path: Path, *, takes_it: bool) -> None:
    async with running_gateway(tmp_path / "state.db", config=mode("steer")) as gateway:
        running = await busy(gateway)
        told: list[str] = []

        def steer(text: str) -> bool:
            told.append(text)
            return takes_it

        foreign = gateway.factory.made[0]
        foreign.says_what_it_heard = False
        foreign.steer = steer  # type: ignore[assignment, method-assign]
        second = gateway.telegram.receive("and this")
        await until(lambda: bool(gateway.telegram.sent))
        gateway.model.hold.set()
        await asyncio.gather(running, second)
        assert told == ["and this"]
        assert len(gateway.model.requests) == (1 if takes_it else 2)


@pytest.mark.asyncio
async def test_acknowledgements_can_be_switched_off(tmp_path: Path) -> None:
    config = mode("queue", busy_ack_enabled=False)
    async with running_gateway(tmp_path / "state.db", config=config) as gateway:
        running = await busy(gateway)
        second = gateway.telegram.receive("two")
        await until(lambda: bool(gateway.runner.chats.waiting.get(KEY)))
        gateway.model.hold.set()
        await asyncio.gather(running, second)
        assert sent(gateway) == ["reply 1", "reply 2"]


# Stopping for good


@pytest.mark.asyncio
async def test_stop_ends_what_runs_and_drops_what_waits(tmp_path: Path) -> None:
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=mode("queue", busy_ack_enabled=False)
    ) as gateway:
        await gateway.telegram.receive("hello")
        runner = gateway.runner
        assert not await runner.parts.control.stop_turn(KEY)
        assert runner._agent_cache == {}
        running = await busy(gateway)
        waiting = gateway.telegram.receive("waits")
        await until(lambda: bool(runner.chats.waiting.get(KEY)))
        assert runner.chats.is_busy(KEY)
        since = runner.chats.peek(KEY).running_since
        assert since is not None
        generation = runner.chats.peek(KEY).generation
        assert await runner.parts.control.stop_turn(KEY)
        assert not runner.chats.is_busy(KEY)
        assert runner.chats.peek(KEY).running_since is None
        assert runner.chats.peek(KEY).generation > generation
        await asyncio.gather(running, waiting)
        assert [outcome for _, outcome in outcomes(gateway)] == ["done", "stopped", "stopped"]
        assert sent(gateway) == ["reply 1"]
        assert not gateway.store._entries[KEY].resume_pending
        gateway.model.hold.set()
        assert await gateway.telegram.receive("again") == "reply 3"


@pytest.mark.asyncio
async def test_a_turn_that_hears_nothing_does_not_keep_its_chat(tmp_path: Path) -> None:
    DeafAgent.wakes.clear()
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.runner.state.interrupt_grace_s = 0.05
        gateway.factory.kind = DeafAgent
        hung = gateway.telegram.receive("hello")
        await until(lambda: bool(gateway.factory.made))
        await until(lambda: KEY in gateway.runner._running_agents)
        assert await gateway.runner.parts.control.stop_turn(KEY)
        assert await hung in {None, ""}
        gateway.factory.kind = type(gateway.factory.made[0]).__mro__[1]
        assert await gateway.telegram.receive("and now") == "reply 1"
        DeafAgent.wakes.set()


@pytest.mark.asyncio
async def test_a_turn_that_was_silent_for_too_long_is_given_up(tmp_path: Path) -> None:
    clock = MovableClock()
    config = mode("queue", agent_timeout_s=100.0)
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=config, clock=clock
    ) as gateway:
        running = await busy(gateway)
        clock.advance(99)
        waits = gateway.telegram.receive("patient")
        await until(lambda: bool(gateway.runner.chats.waiting.get(KEY)))
        clock.advance(2)
        late = gateway.telegram.receive("late")
        await running
        gateway.model.hold.set()
        await asyncio.gather(waits, late)
        assert outcomes(gateway)[0] == ("turn long", "stopped")
        assert outcomes(gateway)[1:] == [("turn patient", "done"), ("turn late", "done")]


# Commands


@pytest.mark.asyncio
async def test_commands_come_before_the_turns_of_their_chat(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    async def dispatch(event: MessageEvent, session_key: str) -> MessageEvent | str:
        seen.append((event.text, session_key))
        if event.text == "/status":
            return "all is well"
        if event.text == "/broken":
            raise ZeroDivisionError
        return replace(event, text=event.text.removeprefix("/say "))

    async with running_gateway(
        tmp_path / "state.db", command_dispatch=dispatch, config=mode("queue")
    ) as gateway:
        running = await busy(gateway, "/say hello")
        assert await gateway.telegram.receive("/status") == "all is well"
        broken = await gateway.telegram.receive("/broken")
        assert broken is not None
        assert "An internal error occurred" in broken
        gateway.model.hold.set()
        assert await running == "reply 1"
        assert gateway.model.texts() == ["user: hello"]
        assert seen[0] == ("/say hello", KEY)
        assert (await gateway.say("/status")).reply == "all is well"
        assert await gateway.telegram.receive("/status", user_id="u2") is None
        assert len(seen) == 4


@pytest.mark.asyncio
async def test_queued_by_command(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", config=mode("interrupt")) as gateway:
        running = await busy(gateway)
        source = gateway.store._entries[KEY].origin
        assert await gateway.runner.parts.queue.add(MessageEvent("a", source=source)) == 1
        await until(lambda: bool(gateway.runner.chats.waiting.get(KEY)))
        assert await gateway.runner.parts.queue.add(MessageEvent("b", source=source)) == 2
        gateway.model.hold.set()
        await running
        await until(lambda: len(gateway.of(TurnFinished)) == 3)
        assert sent(gateway) == ["reply 1", "reply 2", "reply 3"]
        assert await gateway.runner.parts.queue.add(MessageEvent("c", source=source)) == 0
        await until(lambda: len(gateway.of(TurnFinished)) == 4)
        await gateway.runner.stop()
        with pytest.raises(type(closing())):
            await gateway.runner.parts.queue.add(MessageEvent("d", source=source))


@pytest.mark.asyncio
async def test_a_message_that_a_command_queued_is_dealt_with_when_it_is_answered(
    tmp_path: Path,
) -> None:
    async with running_gateway(tmp_path / "state.db", config=mode("queue")) as gateway:
        runner = gateway.runner

        async def dispatch(event: MessageEvent, _session_key: str) -> MessageEvent | str:
            if not event.text.startswith("/queue "):
                return event
            later = replace(event, text=event.text.removeprefix("/queue "))
            return f"queued as {await runner.parts.queue.add(later)}"

        runner.state.command_dispatch = dispatch
        running = await busy(gateway)
        assert await gateway.telegram.receive("/queue later") == "queued as 1"
        assert "turn /queue later" in runner.parts.incoming.tickets
        gateway.model.hold.set()
        assert await running == "reply 1"
        await until(lambda: len(gateway.of(TurnFinished)) == 2)
        await until(lambda: runner.parts.incoming.tickets == {})
        assert gateway.model.texts()[-1] == "user: later"


@pytest.mark.asyncio
async def test_no_more_conversations_at_once_than_allowed(tmp_path: Path) -> None:
    config = replace(mode("queue"), max_concurrent_sessions=1)
    async with running_gateway(tmp_path / "state.db", hosted=True, config=config) as gateway:
        running = await busy(gateway)
        refused = await gateway.telegram.receive("other", chat_id="c2")
        assert refused is not None
        assert "max_concurrent_sessions" not in refused
        assert "Send it again" in refused
        gateway.model.hold.set()
        assert await running == "reply 1"
        assert await gateway.telegram.receive("other", chat_id="c2") == "reply 2"
        assert (tmp_path / "runtime" / "active_sessions.json").read_text() == '{"entries": []}'


@pytest.mark.asyncio
async def test_stop_ends_a_turn_that_waits_for_its_conversation(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.runner.state.interrupt_grace_s = 30
        await gateway.telegram.receive("begin")
        session_id = gateway.store.peek_session_id(KEY) or ""
        gateway.model.hold.clear()
        gateway.model.asked.clear()
        turn_id = await gateway.submit("from the desk", session_id)
        await until(gateway.model.asked.is_set)
        waits = gateway.telegram.receive("from the phone")
        await until(lambda: gateway.runner.state.turn_leases._wanted.get(session_id, 0) > 1)
        assert await asyncio.wait_for(gateway.runner.parts.control.stop_turn(KEY), 10)
        await waits
        assert gateway.of(TurnFinished)[-1].outcome == "stopped"
        gateway.model.hold.set()
        assert (await gateway.desktop.wait(turn_id)).outcome == "done"


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_silent_turn_is_ended_and_the_chat_told_why(tmp_path: Path) -> None:
    config = mode("queue", agent_timeout_s=2.0, agent_timeout_warning_s=0, notify_interval_s=0)
    async with running_gateway(tmp_path / "state.db", hosted=True, config=config) as gateway:
        running = await busy(gateway)
        reply = await running
        assert reply is not None
        assert reply.startswith("I stopped because there was no more progress.")
        (finished,) = gateway.of(TurnFinished)
        assert (finished.outcome, finished.stored) == ("failed", True)
        gateway.model.hold.set()


@pytest.mark.asyncio
async def test_the_chat_hears_of_a_long_turn(tmp_path: Path) -> None:
    config = mode("queue", notify_interval_s=0.05)
    async with running_gateway(tmp_path / "state.db", hosted=True, config=config) as gateway:
        running = await busy(gateway)
        await until(lambda: bool(gateway.telegram.sent))
        gateway.model.hold.set()
        await running
        assert sent(gateway)[0].startswith("I am still working on it")
        assert sent(gateway)[-1] == "reply 1"
