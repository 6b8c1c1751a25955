"""/background and /agents: answered beside the chat, owed to it, told when the end cuts it off."""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.tools.processes.process_table import ProcessTable, Wanted
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import OFFERED_SESSION, Notice, TurnFinished, TurnStarted
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.access.refusals import asked_to_drain
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.gateway.runner.background import END_REASON, MOST_TASKS
from hermes_desktop.gateway.runner.chat_requests import ChatApprovals, ChatQuestions
from hermes_desktop.services.assembly.assembly import build_services
from tests.fakes.command_gateway import UNASKED, CommandGateway, command_gateway
from tests.fakes.model_server import ModelServer
from tests.fakes.socket_gateway import socket_gateway
from tests.fakes.socket_platform import chat_server
from tests.fakes.tool_stage import ToolStage, call
from tests.integration.test_steering_chats import with_tools
from tests.support.waiting import until


def task_of(answer: str) -> str:
    """The name in the answer to /background."""
    return answer.split(" ", 1)[0]


async def begun(chat: CommandGateway, prompt: str = "research tea") -> str:
    """A task that runs: its model is asked and does not answer yet."""
    model = chat.gateway.model
    model.hold.clear()
    model.asked.clear()
    name = task_of(await chat.tell(f"/bg {prompt}"))
    await until(model.asked.is_set)
    return name


def rows(chat: CommandGateway) -> dict[str, Any]:
    return {str(row["id"]): row for row in chat.gateway.db.list_sessions_rich(limit=50)}


@pytest.mark.asyncio
async def test_a_task_is_answered_beside_its_chat(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        await chat.tell("hello")
        told = await chat.tell("/background research tea")
        assert "without the context of this one" in told
        sent = chat.gateway.telegram.sent
        await until(lambda: sent[-1][1].startswith("Background task “research tea” is done:"))
        assert sent[-1] == ("c1", "Background task “research tea” is done:\n\nreply 2")
        assert chat.gateway.model.texts() == ["user: research tea"]
        assert chat.texts() == ["hello", "reply 1"]
        own = next(e for e in chat.gateway.of(TurnStarted) if e.prompt == "research tea")
        await until(lambda: not chat.gateway.runner.state.tasks)
        row = chat.gateway.db.get_session(own.session_id)
        assert row is not None
        assert (row["source"], row["end_reason"]) == ("telegram", END_REASON)
        assert row["title"].startswith("Background: research tea (")
        assert await chat.tell("and now?") == "reply 3"
        assert chat.texts()[-2:] == ["and now?", "reply 3"]


@pytest.mark.asyncio
async def test_it_runs_while_the_chat_goes_on_and_is_listed_and_ended(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        name = await begun(chat)
        assert f"`{name}` background task: research tea (just now" in await chat.tell("/agents")
        chat.gateway.model.asked.clear()
        running = chat.start("hello")
        await until(chat.gateway.model.asked.is_set)
        told = await chat.tell("/tasks")
        assert "2 tasks running or waiting" in told
        assert "reply: hello" in told
        assert await chat.tell(f"/agents stop {name}") == f"Stopped: background task {name}."
        assert "No task named bg_x" in await chat.tell("/agents stop bg_x")
        chat.gateway.model.hold.set()
        assert await running == "reply 2"
        await until(lambda: len(chat.gateway.of(TurnFinished)) == 2)
        assert await chat.tell("/agents") == "No work is running or waiting."
        assert not any("failed" in text for _, text in chat.gateway.telegram.sent)


@pytest.mark.asyncio
async def test_leaving_waits_for_it_a_while_and_it_counts_as_running(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        await begun(chat)
        assert chat.gateway.reports[-1].running_turns == 1
        leaving = asyncio.ensure_future(chat.gateway.runner.stop(20.0))
        await asyncio.sleep(0.05)
        assert not leaving.done()
        chat.gateway.model.hold.set()
        await leaving
        assert "research tea” is done" in chat.gateway.telegram.sent[-1][1]
        assert chat.gateway.reports[-1].running_turns == 0


@pytest.mark.asyncio
async def test_stop_ends_what_it_is_told_to(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        await begun(chat)
        assert await chat.tell("/stop") == "No reply is being written here."
        assert len(chat.gateway.runner.parts.background.of_chat()) == 1
        assert await chat.tell("/stop background") == "1 background task stopped."
        assert chat.gateway.runner.parts.background.of_chat() == ()
        assert await chat.tell("/stop now!") == "No reply is being written here."
        chat.gateway.model.hold.set()


@pytest.mark.asyncio
async def test_there_are_limits(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        chat.gateway.model.hold.clear()
        for number in range(MOST_TASKS):
            await chat.tell(f"/bg task {number}")
        assert "Too many background tasks" in await chat.tell("/bg one more")
        assert "There is no request." in await chat.tell("/bg")
        chat.gateway.runner.parts.status.refuse_turns(asked_to_drain())
        assert asked_to_drain().title in await chat.tell("/bg now?", chat_id="c3")
        chat.gateway.runner.parts.status.refuse_turns(None)
        assert "works in a separate session" in await chat.tell("/bg other chat", chat_id="c2")
        chat.gateway.model.hold.set()
        await until(lambda: not chat.gateway.runner.state.tasks)


@pytest.mark.asyncio
async def test_others_see_only_their_own(tmp_path: Path) -> None:
    telegram = PlatformConfig(enabled=True, extra={"allow_from": "*", "allow_admin_from": "u1"})
    config = GatewayConfig(platforms={Platform.TELEGRAM: telegram}, running=UNASKED.running)
    async with command_gateway(tmp_path, hosted=True, config=config) as chat:
        name = await begun(chat)
        stranger = {"user_id": "u2", "chat_id": "c2"}
        told = await chat.tell("/agents", **stranger)
        assert name not in told
        assert name in await chat.tell("/agents")
        chat.gateway.model.hold.set()


@pytest.mark.asyncio
async def test_a_failure_is_told(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:

        def fail(_request: object) -> None:
            raise RuntimeError("a bug")

        chat.gateway.factory.on_make = fail
        await chat.tell("/bg research tea")
        sent = chat.gateway.telegram.sent
        await until(lambda: "failed" in sent[-1][1])
        await until(lambda: not chat.gateway.runner.state.tasks)


@pytest.mark.asyncio
async def test_what_needs_a_word_is_asked_in_the_chat(tmp_path: Path) -> None:
    stage = ToolStage(tmp_path / "tools", platform_toolsets={"telegram": ["terminal"]})
    try:
        async with command_gateway(tmp_path, hosted=True) as chat:
            runner = chat.gateway.runner
            runner.state.approvals = ChatApprovals(runner, stage.queue)
            runner.state.approvals.open()
            chat.gateway.factory.kind = with_tools(stage)
            chat.gateway.model.calls.append((call("terminal", command="rm -rf ../x"),))
            await chat.tell("/bg tidy up")
            sent = chat.gateway.telegram.sent
            await until(lambda: "May I do this?" in sent[-1][1])
            assert "Denied: rm -rf ../x" in await chat.tell("no")
            await until(lambda: "is done" in sent[-1][1])
            runner.state.approvals.close()
    finally:
        stage.close()


@pytest.mark.asyncio
async def test_agents_names_processes_and_questions(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        table = ProcessTable(SystemClock(), tmp_path / "processes")
        facts = chat.gateway.runner.state.command_dispatch._facts  # type: ignore[union-attr]
        changed = type(facts)(
            facts.version,
            home=tmp_path,
            processes=table,
            requests=RequestQueue(SystemClock()),
        )
        chat.gateway.runner.state.command_dispatch._facts = changed  # type: ignore[union-attr]
        key = "agent:main:telegram:dm:c1"
        environ = {"PATH": "/usr/bin:/bin"}
        info = table.start(Wanted(key, "s", ("sleep", "60"), "sleep 60", environ, tmp_path))
        told = await chat.tell("/agents")
        assert f"`{info.id}` process: sleep 60 (just now, {tmp_path})" in told
        assert "Stopped: process" in await chat.tell(f"/agents stop {info.id}")
        table.start(Wanted(key, "s", ("sleep", "60"), "sleep 60", environ, tmp_path))
        assert await chat.tell("/stop all") == "1 background task stopped."
        assert not table.has_active(key)
        table.close()


@pytest.mark.asyncio
async def test_what_waits_for_a_person_is_listed_and_ended(tmp_path: Path) -> None:
    stage = ToolStage(tmp_path / "tools", platform_toolsets={"telegram": ["terminal", "clarify"]})
    try:
        async with command_gateway(tmp_path, hosted=True) as chat:
            runner = chat.gateway.runner
            dispatch = runner.state.command_dispatch
            dispatch._facts = replace(  # type: ignore[union-attr]
                dispatch._facts,  # type: ignore[union-attr]
                requests=stage.queue,
            )
            runner.state.approvals = ChatApprovals(runner, stage.queue)
            runner.state.questions = ChatQuestions(runner, stage.queue)
            runner.state.approvals.open()
            runner.state.questions.open()
            chat.gateway.factory.kind = with_tools(stage)
            for number, wanted in enumerate(
                (
                    call("terminal", command="rm -rf ../x"),
                    call("clarify", question="Which port?"),
                )
            ):
                chat.gateway.model.calls.append((wanted,))
                running = chat.start(f"go {number}")
                await until(lambda: bool(stage.queue.pending()))
                told = await chat.tell("/agents")
                name = re.search(r"`(ask_\w+)` (approval|question), waiting", told)
                assert name, told
                assert "Stopped:" in await chat.tell(f"/agents stop {name[1]}")
                await running
            runner.state.approvals.close()
            runner.state.questions.close()
    finally:
        stage.close()


@pytest.mark.asyncio
async def test_what_the_end_cuts_off_is_told_by_the_next_run(tmp_path: Path) -> None:
    file = tmp_path / "background.json"
    async with chat_server() as chat:
        async with socket_gateway(tmp_path, chat.port) as gateway:
            gateway.runner.state.task_file = file
            gateway.model.hold.clear()
            chat.say("hello")
            await until(gateway.model.asked.is_set)
            source = next(iter(gateway.runner.chats.turns.values())).source
            event = _event(source)
            key = next(iter(gateway.runner.chats.turns))
            await gateway.runner.parts.background.begin(event, "research tea", key)
            await until(lambda: len(gateway.model.requests) == 2)
            assert [each["prompt"] for each in json.loads(file.read_text())] == ["research tea"]
            await gateway.runner.stop(0.0)
        assert file.exists()
        async with socket_gateway(tmp_path, chat.port) as gateway:
            gateway.runner.state.task_file = file
            await gateway.runner.parts.background.report_interrupted()
            await until(lambda: "was interrupted because" in "".join(chat.texts()))
            await until(lambda: gateway.is_idle)
        assert not file.exists()


def _event(source: Any) -> Any:
    from hermes_desktop.gateway.platforms.base import MessageEvent

    return MessageEvent("/bg research tea", source=source)


@pytest.mark.asyncio
async def test_in_the_window_a_notice_offers_the_conversation(tmp_path: Path) -> None:
    paths = HermesPaths(tmp_path, tmp_path)
    with ModelServer() as server:
        config = {"model": {"default": "m", "base_url": server.base_url, "provider": "custom"}}
        (tmp_path / "config.yaml").write_text(json.dumps(config))
        services = build_services(paths, redactor=SecretRedactor(), environ={}, hosts=False)
        notices: list[Notice] = []
        services.bus.subscribe(Notice, notices.append)
        started: list[TurnStarted] = []
        services.bus.subscribe(TurnStarted, started.append)
        try:
            await services.start(watch=False)
            await services.chat.send("/background research tea")
            await until(lambda: any(each.key.startswith(OFFERED_SESSION) for each in notices))
            notice = next(each for each in notices if each.key.startswith(OFFERED_SESSION))
            own = next(each for each in started if each.prompt == "research tea")
            assert notice.key == f"{OFFERED_SESSION}{own.session_id}"
            assert notice.action == "Open session"
            assert "research tea" in notice.title
            await until(lambda: _ended(services, own.session_id))
        finally:
            await services.close()


def _ended(services: Any, session_id: str) -> bool:
    row = services.db.get_session(session_id)
    return row is not None and row["end_reason"] == END_REASON and row["source"] == "desktop"


@pytest.mark.asyncio
async def test_many_at_once_leave_nothing(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        for round_ in range(3):
            names = [
                task_of(await chat.tell(f"/bg task {round_} {number}"))
                for number in range(MOST_TASKS)
            ]
            await asyncio.gather(*(chat.tell(f"/agents stop {name}") for name in names[:2]))
            await until(lambda: not chat.gateway.runner.state.tasks)
        await until(lambda: not len(chat.gateway.runner.state.background_runs))
        assert chat.gateway.runner.state.turn_slots._value == 10
