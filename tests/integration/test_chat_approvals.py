"""A chat whose assistant may act: questions and answers at a gateway that real services host."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.user_requests import RequestResolved
from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.model_server import Recorded, Reply, echo, text, tool_call
from tests.fakes.program import Program
from tests.fakes.rpc_client import RpcProcess

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]


def config_of(tmp_path: Path, **more: Any) -> dict[str, Any]:
    work = tmp_path / "work"
    (work / "build").mkdir(parents=True)
    return {
        "platform_toolsets": {"telegram": ["terminal"]},
        "terminal": {"cwd": str(work)},
        **more,
        "approvals": {"sandboxed_commands": "off"} | more.get("approvals", {}),
    }


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """``hermes-desktop`` on the home of a stage, once that is known."""
    return Program(tmp_path)


async def wish(stage: HostStage) -> None:
    stage.model.script(tool_call("terminal", command="rm -rf build"))
    stage.model.script(text("That is all."))
    stage.chat.say("Remove build", chat="c1", user="u1")
    await stage.until(lambda: any("May I do this?" in each for each in stage.chat.texts("c1")))


async def told(stage: HostStage) -> dict[str, Any]:
    await stage.until(lambda: "That is all." in stage.chat.texts("c1"))
    result: dict[str, Any] = json.loads(stage.model.requests[-1].messages[-1]["content"])
    return result


@pytest.mark.parametrize("answer", ["yes", "/approve", "👍", "/approve session"])
async def test_allowed(tmp_path: Path, answer: str) -> None:
    async with host_stage(tmp_path, config=config_of(tmp_path)) as stage:
        await stage.host.start()
        await wish(stage)
        question = next(each for each in stage.chat.texts("c1") if "May I" in each)
        assert "rm -rf build" in question
        assert "deletes folders" in question
        stage.chat.say(answer, chat="c1", user="u1")
        assert (await told(stage))["exit_code"] == 0
        assert any(each.startswith("Allowed") for each in stage.chat.texts("c1"))
        assert not (tmp_path / "work" / "build").exists()


@pytest.mark.parametrize("answer", ["no", "/deny"])
async def test_denied(tmp_path: Path, answer: str) -> None:
    async with host_stage(tmp_path, config=config_of(tmp_path)) as stage:
        await stage.host.start()
        await wish(stage)
        stage.chat.say(answer, chat="c1", user="u1")
        assert "denied it" in (await told(stage))["error"]
        assert (tmp_path / "work" / "build").exists()


async def test_silence_denies(tmp_path: Path) -> None:
    config = config_of(tmp_path, approvals={"timeout": 1})
    async with host_stage(tmp_path, config=config) as stage:
        await stage.host.start()
        await wish(stage)
        assert "in time" in (await told(stage))["error"]
        assert any("No answer in time" in each for each in stage.chat.texts("c1"))


async def test_switching_it_off_is_for_the_owner(tmp_path: Path) -> None:
    async with host_stage(tmp_path, config=config_of(tmp_path)) as stage:
        await stage.host.start()
        stage.chat.say("/yolo", chat="c1", user="u1")
        await stage.until(lambda: stage.chat.texts("c1"))
        assert "You cannot turn off approvals." in stage.chat.texts("c1")[-1]


async def test_a_chat_has_no_tools_that_touch_this_machine(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        stage.model.script(tool_call("terminal", command="echo x"))
        stage.model.script(text("That is all."))
        stage.chat.say("Do it", chat="c1", user="u1")
        assert "There is no tool 'terminal'" in (await told(stage))["error"]
        names = [each["function"]["name"] for each in stage.model.requests[0].json["tools"]]
        assert names == ["web_fetch", "todo", "clarify"]


def asks_to_remove(request: Recorded) -> Reply:
    """A model that wants to do harm once, and then tells what it heard."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return text("It was refused." if "error" in str(last["content"]) else "It is gone.")
    if "remove" in str(last["content"]):
        return tool_call("terminal", command="rm -rf build")
    return echo(request)


async def test_a_dozen_open_requests_silence_nobody(tmp_path: Path, program: Program) -> None:
    """Chats that wait for a word hold up no others, nor the window, nor other programs."""
    async with host_stage(tmp_path, config=config_of(tmp_path)) as stage:
        stage.model.responder = asks_to_remove
        stage.services.requests.open()
        await stage.host.start()
        for number in range(12):
            stage.chat.say("remove it", chat=f"c{number}", user="u1")
        await stage.until(lambda: len(stage.services.requests.pending()) == 12)
        stage.chat.say("hello there", chat="other", user="u1")
        await stage.until(lambda: "hello there" in " ".join(stage.chat.texts("other")))
        stage.chat.say("/status", chat="c3", user="u1")
        await stage.until(lambda: len(stage.chat.texts("c3")) == 2)
        submitted = await stage.services.chat.send("hello window", session_id=None)
        await stage.until(lambda: len(stage.services.db.get_messages(submitted.session_id)) == 2)
        program.home = stage.home
        said = await asyncio.to_thread(say_by_rpc, program)
        assert "hello rpc" in said
        assert len(stage.services.requests.pending()) == 12
        for number in range(12):
            stage.chat.say("no", chat=f"c{number}", user="u1")
        await stage.until(
            lambda: all("It was refused." in stage.chat.texts(f"c{n}") for n in range(12))
        )
        await stage.until(lambda: not stage.host.status.running_turns)


def say_by_rpc(program: Program) -> str:
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.create")["session_id"]
        return str(rpc.said(sid, "hello rpc")["text"])


@pytest.mark.parametrize("choice", ["once", "deny"])
async def test_answered_in_the_window_the_chat_hears_where(tmp_path: Path, choice: str) -> None:
    async with host_stage(tmp_path, config=config_of(tmp_path)) as stage:
        stage.services.requests.open()
        await stage.host.start()
        await wish(stage)
        request = stage.services.requests.pending()[0]
        assert stage.services.requests.answer(request.id, choice)
        await told(stage)
        done = "denied" if choice == "deny" else "allowed once"
        assert f"Answered in the window: {done}." in stage.chat.texts("c1")
        assert (tmp_path / "work" / "build").exists() == (choice == "deny")
        assert not stage.services.requests.answer(request.id, "once")


async def test_answered_in_the_chat_the_window_hears_where(tmp_path: Path) -> None:
    async with host_stage(tmp_path, config=config_of(tmp_path)) as stage:
        news: list[RequestResolved] = []
        stage.services.bus.subscribe(RequestResolved, news.append)
        stage.services.requests.open()
        await stage.host.start()
        await wish(stage)
        stage.chat.say("yes", chat="c1", user="u1")
        await told(stage)
        await stage.until(lambda: news)
        answer = news[0].answer
        assert (answer.text, answer.reason, answer.by) == ("once", "answered", "telegram")
        assert not any("Answered in" in each for each in stage.chat.texts("c1"))


async def test_a_restart_in_between_denies_and_says_so(tmp_path: Path) -> None:
    async with host_stage(tmp_path, config=config_of(tmp_path)) as stage:
        await stage.host.start()
        await wish(stage)
        await stage.host.restart()
        assert "no longer be reached" in (await told(stage))["error"]
        assert (tmp_path / "work" / "build").exists()
        stage.model.script(text("As you say."))
        stage.chat.say("yes", chat="c1", user="u1")
        await stage.until(lambda: "As you say." in stage.chat.texts("c1"))
        assert (tmp_path / "work" / "build").exists()


async def test_the_end_of_the_program_denies(tmp_path: Path) -> None:
    async with host_stage(tmp_path, config=config_of(tmp_path)) as stage:
        stage.services.requests.open()
        await stage.host.start()
        await wish(stage)
        stage.services.requests.end()
        assert "being closed" in (await told(stage))["error"]
        assert (tmp_path / "work" / "build").exists()
