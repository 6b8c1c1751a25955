"""Questions with buttons on Telegram. The other side is a small server of our own."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import text, tool_call
from tests.fakes.telegram_server import TelegramServer, telegram_server
from tests.fakes.telegram_stage import telegram_stage

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]


def config_of(folder: Path, *tools: str) -> dict[str, Any]:
    work = folder / "work"
    (work / "build").mkdir(parents=True)
    return {
        "platform_toolsets": {"telegram": list(tools)},
        "terminal": {"cwd": str(work)},
        "approvals": {"sandboxed_commands": "off"},
    }


def buttons(telegram: TelegramServer) -> dict[str, str]:
    """Label and data of what can be pressed."""
    asked = [call for call in telegram.called("sendMessage") if "reply_markup" in call]
    if not asked:
        return {}
    rows = json.loads(asked[-1]["reply_markup"])["inline_keyboard"]
    return {each["text"]: each["callback_data"] for row in rows for each in row}


async def test_a_command_is_allowed_by_a_button(tmp_path: Path) -> None:
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, **config_of(tmp_path, "terminal")) as stage,
    ):
        stage.model.script(tool_call("terminal", command="rm -rf build"), text("Gone."))
        telegram.say("Remove build")
        await stage.until(lambda: buttons(telegram))
        assert next(iter(buttons(telegram))) == "Yes, once"
        telegram.press(buttons(telegram)["Yes, once"], user=66)  # not the one who was asked
        await stage.until(lambda: telegram.called("answerCallbackQuery"))
        assert (tmp_path / "work" / "build").exists()
        telegram.press(buttons(telegram)["Yes, once"])
        await stage.until(lambda: "Gone." in telegram.texts())
        assert not (tmp_path / "work" / "build").exists()

        telegram.press(buttons(telegram)["Yes, once"])  # nothing waits any more
        await stage.until(lambda: len(telegram.called("answerCallbackQuery")) == 3)
        toasts = [each.get("text", "") for each in telegram.called("answerCallbackQuery")]
        assert toasts[1].startswith("Allowed once: rm -rf build")
        assert "no longer waiting" in toasts[2]
        assert len(stage.model.requests) == 2  # a pressed button is no message to the assistant


async def test_no_is_no(tmp_path: Path) -> None:
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, **config_of(tmp_path, "terminal")) as stage,
    ):
        stage.model.script(tool_call("terminal", command="rm -rf build"), text("All right."))
        telegram.say("Remove build")
        await stage.until(lambda: buttons(telegram))
        telegram.press(buttons(telegram)["No"])
        await stage.until(lambda: "All right." in telegram.texts())
        assert (tmp_path / "work" / "build").exists()


async def test_a_question_is_answered_by_a_button(tmp_path: Path) -> None:
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, **config_of(tmp_path, "clarify")) as stage,
    ):
        ask = tool_call("clarify", question="Which one?", choices=["red", "blue"])
        stage.model.script(ask, text("Blue it is."))
        telegram.say("Paint it")
        await stage.until(lambda: buttons(telegram))
        telegram.press(buttons(telegram)["blue"])
        await stage.until(lambda: "Blue it is." in telegram.texts())
        assert "blue" in stage.model.requests[-1].messages[-1]["content"]


@pytest.mark.needs("sandbox")
async def test_access_is_granted_by_a_button(tmp_path: Path) -> None:
    plan = tmp_path / "papers/plan.txt"
    plan.parent.mkdir()
    plan.write_text("the plan")
    config = config_of(tmp_path, "terminal") | {"approvals": {}}
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, **config) as stage,
    ):
        wish = tool_call("ask_access", kind="path", what=str(plan), why="You sent me there.")
        read = tool_call("terminal", command=f"cat {plan}")
        stage.model.script(wish, read, text("Read."))
        telegram.say("Read the plan")
        await stage.until(lambda: buttons(telegram))
        [asked] = [
            each["text"] for each in telegram.called("sendMessage") if "plan" in each["text"]
        ]
        assert list(buttons(telegram)) == [
            *("For the next command", "For this session", "Always for this path", "No")
        ]
        assert "Let commands read this file?" in asked
        assert "You sent me there." in asked
        assert "No command has failed without it so far." in asked
        telegram.press(buttons(telegram)["For this session"])
        await stage.until(lambda: "Read." in telegram.texts())
        assert "the plan" in stage.model.requests[-1].messages[-1]["content"]


@pytest.mark.needs("sandbox")
async def test_a_chat_cannot_let_a_command_out_of_the_sandbox(tmp_path: Path) -> None:
    config = config_of(tmp_path, "terminal") | {"approvals": {}}
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, **config) as stage,
    ):
        fails = tool_call("terminal", command="echo cannot open display; exit 1")
        elsewhere = tool_call("terminal", command="pwd", workdir=str(tmp_path))
        stage.model.script(fails, elsewhere, text("So be it."))
        telegram.say("Show it")
        await stage.until(lambda: buttons(telegram))
        asked = [each["text"] for each in telegram.called("sendMessage")]
        assert not any("outside the sandbox" in each for each in asked)
        assert list(buttons(telegram)) == ["Yes, once", "Yes, in this session", "Always", "No"]
        telegram.press(buttons(telegram)["No"])
        await stage.until(lambda: "So be it." in telegram.texts())
