"""Access that the assistant asks for, from a failed command to the one that succeeds."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.user_requests import OUTSIDE_MEANS, RequestResolved
from hermes_desktop.ui.asking.request_presenter import RequestPresenter
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.chat_stage import ChatStage
from tests.fakes.model_server import text, tool_call

pytestmark = [pytest.mark.needs("sandbox"), pytest.mark.asyncio]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "Documents/plan.txt"
    path.parent.mkdir()
    path.write_text("the plan")
    return path


@pytest.fixture
def stage(tmp_path: Path, theme: Theme) -> ChatStage:
    return made(tmp_path, theme)


def made(folder: Path, theme: Theme) -> ChatStage:
    """Return a window on the home below a folder, new or as another program left it."""
    home, work = folder / "home", folder / "work"
    for each in (home, work):
        each.mkdir(exist_ok=True)
    stage = ChatStage(home, theme)

    def configure() -> None:
        path, address = stage.paths.config_yaml, stage.server.base_url
        if path.exists():
            path.write_text(re.sub("base_url: .*", f"base_url: {address}", path.read_text("utf-8")))
            return
        path.write_text(
            f"model:\n  default: fake-model\n  base_url: {address}\n  provider: custom\n"
            f"# where it works\nterminal:\n  cwd: {work}\n"
        )

    stage.configure = configure  # type: ignore[method-assign]
    return stage


def desk_of(stage: ChatStage) -> RequestPresenter:
    page = stage.page
    desk = RequestPresenter(
        stage.services.requests,
        stage.bridge,
        place=page.sheets,
        window=page,
        theme=stage.theme,
        clock=SystemClock(),
        shown=lambda: page.current_session_id,
    )
    desk.open()
    return desk


def results(stage: ChatStage) -> list[dict[str, Any]]:
    """Return what the tools answered the model, in order."""
    messages = stage.server.requests[-1].messages
    return [json.loads(each["content"]) for each in messages if each["role"] == "tool"]


async def ask(stage: ChatStage, desk: RequestPresenter, plan: Path) -> None:
    """Let the assistant try, fail, ask, and try again."""
    stage.page.new_chat()
    why = "You asked me to compare both plans."
    stage.server.script(tool_call("terminal", "I look.", command=f"cat {plan}"))
    stage.server.script(tool_call("ask_access", kind="path", what=str(plan.parent), why=why))
    stage.server.script(tool_call("terminal", command=f"cat {plan}"))
    stage.server.script(text("That is all."))
    stage.say("Compare the plans")
    await stage.until(lambda: desk.sheet.armed)


async def done(stage: ChatStage) -> None:
    await stage.until(lambda: stage.finished)
    await stage.until(stage.settled)


@pytest.mark.parametrize("dark", [False, True])
async def test_a_folder_is_asked_for_and_granted_for_the_next_command(
    stage: ChatStage, plan: Path, dark: bool
) -> None:
    stage.theme.set_scheme("dark" if dark else "light")
    async with stage:
        desk = desk_of(stage)
        await ask(stage, desk, plan)
        sheet, area = desk.sheet, desk.sheet.approval
        assert sheet.title.text() == "Let commands read this folder?"
        assert area.what.toPlainText() == str(plan.parent)
        lines = area.why.text().split("\n")
        assert lines[0] == "Commands can then read everything in this folder."
        assert lines[1].startswith(f"“cat {plan}” was started and failed.")
        assert lines[2] == "The assistant says: “You asked me to compare both plans.”"
        assert not area.where.isVisible()
        assert area.buttons["deny"].hasFocus()
        offered = [each for each in area.buttons.values() if each.isVisible()]
        assert [each.text().replace("&", "") for each in offered] == [
            *("Deny", "For the next command", "For this session", "Always for this path")
        ]
        keep_picture(stage, f"access-{'dark' if dark else 'light'}")
        area.buttons["once"].click()
        await done(stage)
        failed, granted, read = results(stage)
        assert failed["not_granted"] == [f"path {plan}"]
        assert granted["granted"] == "for the next command only"
        assert read["output"] == "the plan"
        desk.close()


async def test_a_denied_folder_stays_closed(stage: ChatStage, plan: Path) -> None:
    async with stage:
        desk = desk_of(stage)
        before = stage.paths.config_yaml.read_bytes()
        await ask(stage, desk, plan)
        desk.sheet.escape()
        await done(stage)
        _, denied, failed = results(stage)
        assert "The user denied it" in denied["error"]
        assert failed["exit_code"]
        assert stage.paths.config_yaml.read_bytes() == before
        desk.close()


async def test_always_survives_the_program(
    stage: ChatStage, plan: Path, tmp_path: Path, theme: Theme
) -> None:
    async with stage:
        desk = desk_of(stage)
        news: list[RequestResolved] = []
        stage.services.bus.subscribe(RequestResolved, news.append)
        await ask(stage, desk, plan)
        desk.sheet.approval.buttons["always"].click()
        await done(stage)
        assert [each.answer.text for each in news] == ["always"]
        assert results(stage)[-1]["output"] == "the plan"
        written = stage.paths.config_yaml.read_text("utf-8")
        assert f"\n  readable_paths: [{plan.parent}]\n" in written
        assert "# where it works\n" in written
        desk.close()

    again = made(tmp_path, theme)
    async with again:
        desk = desk_of(again)
        again.page.new_chat()
        again.server.script(tool_call("terminal", command=f"cat {plan}"), text("There it is."))
        await again.say_and_wait("Read the plan")
        assert results(again)[-1]["output"] == "the plan"
        desk.close()


@pytest.mark.parametrize("dark", [False, True])
async def test_a_command_is_run_outside_the_sandbox_once(
    stage: ChatStage, tmp_path: Path, dark: bool
) -> None:
    stage.theme.set_scheme("dark" if dark else "light")
    (tmp_path / "letter.txt").write_text("dear")
    command = "cat ../letter.txt || { echo 'cannot open display' >&2; exit 1; }"
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        stage.server.script(tool_call("terminal", command=command), text("That is all."))
        stage.say("Show it")
        await stage.until(lambda: desk.sheet.armed)
        sheet, area = desk.sheet, desk.sheet.approval
        assert sheet.title.text() == "Run this outside the sandbox, once?"
        assert area.why.text().endswith(OUTSIDE_MEANS)
        offered = [each for each, button in area.buttons.items() if button.isVisible()]
        assert offered == ["deny", "outside"]
        assert area.buttons["deny"].hasFocus()
        assert not area.buttons["outside"].autoDefault()
        keep_picture(stage, f"outside-{'dark' if dark else 'light'}")
        area.buttons["outside"].click()
        await done(stage)
        [answer] = results(stage)
        assert answer["output"] == "dear"
        desk.close()


def keep_picture(stage: ChatStage, name: str) -> None:
    folder = os.environ.get("HERMES_PICTURES")
    if folder:
        QApplication.processEvents()
        stage.page.grab().save(f"{folder}/{name}.png")
