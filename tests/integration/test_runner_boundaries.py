"""Where one conversation of a chat ends and the next begins: what is told to whom, and kept."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop import plugins
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import AgentResult
from hermes_desktop.commands.context import ProgramFacts
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.events import SessionReset, TurnFinished
from hermes_desktop.gateway.commands.command_dispatch import CommandDispatch
from hermes_desktop.gateway.config.gateway_config import Platform, SessionResetPolicy
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.turn_outcome import EphemeralReply
from tests.fakes.clock import MovableClock
from tests.fakes.command_gateway import choose
from tests.fakes.gateway import ALLOWED, RunningGateway, running_gateway
from tests.fakes.plugins import EventHooks, listening, registered
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"
IDLE = replace(ALLOWED, default_reset_policy=SessionResetPolicy(mode="idle", idle_minutes=60))


def new(text: str = "/new") -> MessageEvent:
    return MessageEvent(text, source=SessionSource(Platform.TELEGRAM, "c1", user_id="u1"))


def session_of(gateway: RunningGateway) -> str:
    return gateway.store.peek_session_id(KEY) or ""


# /new


@pytest.mark.asyncio
async def test_new_tells_everybody_in_order_and_keeps_the_old_conversation(tmp_path: Path) -> None:
    events = EventHooks()
    async with running_gateway(tmp_path / "state.db", hosted=True, hooks=events) as gateway:
        await gateway.telegram.receive("one")
        old = session_of(gateway)
        gateway.runner._session_model_overrides[KEY] = {"model": "other"}
        events.heard.clear()
        with listening() as heard:
            reply = await gateway.runner._handle_reset_command(new("/new Tea time"))
        fresh = session_of(gateway)
        assert heard.calls == [
            ("on_session_finalize", {"session_id": old, "platform": "telegram"}, "new_session"),
            ("on_session_reset", {"session_id": fresh, "platform": "telegram"}, "new_session"),
        ]
        assert events.names() == ["session:end", "session:reset"]
        assert events.heard[0][1] == {
            "platform": "telegram",
            "user_id": "u1",
            "session_key": KEY,
        }
        assert isinstance(reply, EphemeralReply)
        assert "Session reset" in reply
        assert gateway.runner._session_model_overrides == {}
        assert gateway.runner._agent_cache == {}
        assert gateway.model.closed >= 1
        assert gateway.db.get_session(old)["end_reason"] == "session_reset"
        assert gateway.db.get_session(fresh)["title"] == "Tea time"
        await gateway.telegram.receive("two")
        assert gateway.model.texts() == ["user: two"]
        assert events.names()[2:] == ["session:start", "agent:start", "agent:end"]


@pytest.mark.asyncio
async def test_new_in_a_chat_that_was_never_used(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        with listening() as heard:
            assert "Session reset" in await gateway.runner._handle_reset_command(new())
        assert heard.brief() == [("on_session_reset", session_of(gateway))]


@pytest.mark.asyncio
async def test_a_title_that_is_taken_is_said_and_the_conversation_is_new_all_the_same(
    tmp_path: Path,
) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await gateway.runner._handle_reset_command(new("/new Tea"))
        first = session_of(gateway)
        reply = await gateway.runner._handle_reset_command(new("/new Tea"))
        assert "Session reset" in reply
        assert "The title was not set" in reply
        assert session_of(gateway) != first


@pytest.mark.asyncio
async def test_new_while_a_turn_runs_ends_it_and_what_waits(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.model.hold.clear()
        running = gateway.telegram.receive("long")
        await until(gateway.model.asked.is_set)
        waiting = gateway.telegram.receive("waits")
        await until(lambda: bool(gateway.runner.chats.waiting.get(KEY)))
        old = session_of(gateway)
        await gateway.runner._handle_reset_command(new())
        await asyncio.gather(running, waiting)
        assert gateway.telegram.sent == []
        assert [e.outcome for e in gateway.of(TurnFinished)] == ["stopped", "stopped"]
        assert session_of(gateway) != old
        assert not gateway.store._entries[KEY].resume_pending
        gateway.model.hold.set()
        assert await gateway.telegram.receive("after") == "reply 2"
        assert gateway.model.texts() == ["user: after"]


@pytest.mark.asyncio
async def test_plugins_that_raise_or_hang_do_not_keep_new_from_working(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()

    def hang(**_: Any) -> None:
        release.wait(60)

    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await gateway.telegram.receive("one")
        gateway.runner.parts.hook_calls._limit_s = 0.05
        with (
            registered("on_session_finalize", hang),
            registered("on_session_reset", lambda **_: 1 // 0),
            listening("on_session_reset") as heard,
        ):
            reply = await gateway.runner._handle_reset_command(new())
            release.set()
        assert "Session reset" in reply
        assert heard.brief() == [("on_session_reset", session_of(gateway))]
        assert "on_session_finalize is not awaited any longer" in caplog.text
        assert "ZeroDivisionError" in caplog.text


# By itself


@pytest.mark.asyncio
async def test_a_chat_that_begins_anew_by_itself_says_so_once(tmp_path: Path) -> None:
    clock, events = MovableClock(), EventHooks()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock, hooks=events
    ) as gateway:
        await gateway.telegram.receive("one")
        old = session_of(gateway)
        gateway.store._entries[KEY].last_prompt_tokens = 10
        gateway.runner._session_model_overrides[KEY] = {"model": "other"}
        agent = gateway.factory.made[0]
        clock.advance(3601)
        events.heard.clear()
        gateway.telegram.sent.clear()
        with listening() as heard:
            await gateway.telegram.receive("two")
        fresh = session_of(gateway)
        assert heard.brief() == [("on_session_finalize", old), ("on_session_reset", fresh)]
        assert heard.reasons() == ["idle", "idle"]
        assert events.names()[:2] == ["session:end", "session:start"]
        (news,) = gateway.of(SessionReset)
        assert (news.old_session_id, news.new_session_id, news.reason) == (old, fresh, "idle")
        notice, reply = (text for _, text in gateway.telegram.sent)
        assert notice == news.text
        assert "1 hour" in notice
        assert f"send: /resume {old}" in notice
        assert reply == "reply 2"
        assert len(gateway.factory.made) == 2
        assert agent is not gateway.runner._agent_cache[KEY][0]
        assert gateway.runner._session_model_overrides == {}
        # The model is told; what is stored as typed is what was typed.
        (asked,) = gateway.model.texts()
        assert asked.startswith("user: [Note: This is a new session")
        assert asked.endswith("\n\ntwo")
        assert gateway.rows(fresh) == [("user", "two"), ("assistant", "reply 2")]
        gateway.telegram.sent.clear()
        await gateway.telegram.receive("three")
        assert gateway.telegram.sent == [("c1", "reply 3")]
        assert gateway.model.texts()[0] == asked
        assert gateway.model.texts()[-1] == "user: three"
        assert len(gateway.of(SessionReset)) == 1


@pytest.mark.asyncio
async def test_the_way_back_that_is_named_works(tmp_path: Path) -> None:
    clock = MovableClock()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock
    ) as gateway:
        commands = WorkerThreads("gateway-commands")
        facts = ProgramFacts("1.2.3", profile="", home=tmp_path, choose_model=choose)
        dispatch = CommandDispatch(gateway.runner, facts, workers=commands)
        gateway.runner.state.command_dispatch = dispatch
        await gateway.telegram.receive("one")
        old = session_of(gateway)
        gateway.store._entries[KEY].last_prompt_tokens = 10
        clock.advance(3601)
        await gateway.telegram.receive("two")
        notice = next(text for _, text in gateway.telegram.sent if "/resume" in text)
        command = next(line for line in notice.splitlines() if "/resume" in line)
        with listening() as heard:
            answer = await gateway.telegram.receive(command.partition("send: ")[2])
        assert answer is not None
        assert answer.startswith("Continuing")
        assert session_of(gateway) == old
        assert heard.calls == []
        await gateway.telegram.receive("three")
        assert gateway.model.texts() == ["user: one", "assistant: reply 1", "user: three"]
        commands.close()


@pytest.mark.asyncio
async def test_an_end_that_was_dealt_with_by_the_clock_is_not_told_twice(tmp_path: Path) -> None:
    clock = MovableClock()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=IDLE, clock=clock
    ) as gateway:
        await gateway.telegram.receive("one")
        old = session_of(gateway)
        clock.advance(3601)
        with listening() as heard:
            await gateway.runner.parts.housekeeping.check()
            await gateway.runner.parts.housekeeping.check()
            assert heard.brief() == [("on_session_finalize", old)]
            await gateway.telegram.receive("two")
        assert heard.brief()[1:] == [("on_session_reset", session_of(gateway))]


# By need


class ExhaustedAgent(AIAgent):
    """An agent whose conversation cannot be shortened any more."""

    def run_conversation(self, *args: Any, **kwargs: Any) -> AgentResult:
        result: dict[str, Any] = dict(super().run_conversation(*args, **kwargs))
        return AgentResult(**{**result, "compression_exhausted": True})  # type: ignore[typeddict-item]


@pytest.mark.asyncio
async def test_a_conversation_that_cannot_be_shortened_is_left(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.factory.kind = ExhaustedAgent
        with listening() as heard:
            reply = await gateway.telegram.receive("one")
        assert reply is not None
        assert reply.startswith("reply 1\n\n")
        (_, old), (_, fresh) = heard.brief()
        assert reply.endswith(f"send: /resume {old}")
        assert session_of(gateway) == fresh != old
        assert heard.reasons() == ["compression_exhausted"] * 2
        gateway.factory.kind = AIAgent
        await gateway.telegram.receive("two")
        assert gateway.model.texts() == ["user: two"]
        assert not gateway.store._entries[KEY].resume_pending


# Looking at messages before they are anybody's


@pytest.mark.asyncio
async def test_a_plugin_may_drop_or_rewrite_a_message(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:

        def look(event: MessageEvent, **_: Any) -> dict[str, str] | None:
            if event.text == "spam":
                return {"action": "skip"}
            return {"action": "rewrite", "text": event.text.upper()}

        with registered("pre_gateway_dispatch", look):
            assert await gateway.telegram.receive("spam") is None
            assert await gateway.telegram.receive("hello") == "reply 1"
        assert gateway.model.texts() == ["user: HELLO"]
    assert not plugins.has_callbacks("pre_gateway_dispatch")


# In the window


@pytest.mark.asyncio
async def test_a_conversation_of_the_window_is_told_when_it_is_closed_once(tmp_path: Path) -> None:
    events = EventHooks()
    with listening() as heard:
        async with running_gateway(tmp_path / "state.db", hooks=events) as gateway:
            first = (await gateway.say("hello")).session_id
            gateway.model.hold.clear()
            gateway.model.asked.clear()
            await gateway.submit("long")
            await until(gateway.model.asked.is_set)
            await gateway.runner.stop(drain_s=0)
            second = gateway.of(TurnFinished)[-1].session_id
            assert gateway.db.get_session(first)["end_reason"] == "tui_close"
    assert [(kwargs["session_id"], kwargs["platform"], why) for _, kwargs, why in heard.calls] == [
        (second, "gateway", "shutdown"),
        (first, "desktop", "close"),
    ]
    assert events.names()[-1] == "session:end"


@pytest.mark.asyncio
async def test_new_does_not_wait_for_the_turns_of_other_chats(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        await gateway.telegram.receive("hello")
        old = session_of(gateway)
        gateway.model.hold.clear()
        turns = [gateway.telegram.receive("long", chat_id=f"other{n}") for n in range(10)]
        await until(lambda: gateway.model.at_once == 10)
        async with asyncio.timeout(60):
            assert "Session reset" in await gateway.runner._handle_reset_command(new())
        assert session_of(gateway) != old
        gateway.model.hold.set()
        await asyncio.gather(*turns)
