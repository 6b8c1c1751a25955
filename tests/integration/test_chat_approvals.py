"""A chat whose assistant may act: questions and answers at a gateway that real services host."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.model_server import text, tool_call

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]


def config_of(tmp_path: Path, **more: Any) -> dict[str, Any]:
    work = tmp_path / "work"
    (work / "build").mkdir(parents=True)
    toolsets = {"telegram": ["terminal"]}
    return {"platform_toolsets": toolsets, "terminal": {"cwd": str(work)}, **more}


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
        assert any("Nobody answered" in each for each in stage.chat.texts("c1"))


async def test_switching_it_off_is_for_the_owner(tmp_path: Path) -> None:
    async with host_stage(tmp_path, config=config_of(tmp_path)) as stage:
        await stage.host.start()
        stage.chat.say("/yolo", chat="c1", user="u1")
        await stage.until(lambda: stage.chat.texts("c1"))
        assert "You may not switch this off." in stage.chat.texts("c1")[-1]


async def test_a_chat_has_no_tools_that_touch_this_machine(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        stage.model.script(tool_call("terminal", command="echo x"))
        stage.model.script(text("That is all."))
        stage.chat.say("Do it", chat="c1", user="u1")
        assert "There is no tool 'terminal'" in (await told(stage))["error"]
        names = [each["function"]["name"] for each in stage.model.requests[0].json["tools"]]
        assert names == ["web_fetch", "todo", "clarify"]
