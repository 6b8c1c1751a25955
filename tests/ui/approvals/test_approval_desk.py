"""A question in the window, from the model's wish to the person's answer."""

import json
import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.ui.approvals.approval_desk import ApprovalDesk
from hermes_desktop.ui.theme import Theme
from tests.fakes.chat_stage import ChatStage
from tests.fakes.model_server import hang, text, tool_call

pytestmark = pytest.mark.asyncio


@pytest.fixture
def stage(tmp_path: Path, theme: Theme) -> ChatStage:
    home = tmp_path / "home"
    home.mkdir()
    made = ChatStage(home, theme)
    work = tmp_path / "work"
    (work / "build").mkdir(parents=True)

    def configure() -> None:
        model = {"default": "fake-model", "base_url": made.server.base_url, "provider": "custom"}
        config = {"model": model, "terminal": {"cwd": str(work)}}
        made.paths.config_yaml.write_text(json.dumps(config), encoding="utf-8")

    made.configure = configure  # type: ignore[method-assign]
    return made


def desk_of(stage: ChatStage) -> ApprovalDesk:
    page = stage.page
    desk = ApprovalDesk(
        stage.services.approvals,
        stage.bridge,
        page=page,
        window=page,
        theme=stage.theme,
        clock=SystemClock(),
        shown=lambda: page.current_session_id,
    )
    desk.open()
    return desk


async def ask(stage: ChatStage, desk: ApprovalDesk) -> None:
    stage.page.new_chat()
    stage.server.script(tool_call("terminal", "I clean up.", command="rm -rf build"))
    stage.server.script(text("All clean."))
    stage.say("Remove build")
    await stage.until(lambda: desk.sheet.request is not None)


async def done(stage: ChatStage) -> None:
    await stage.until(lambda: stage.finished)
    await stage.until(lambda: not stage.page.view.live.turns)
    await stage.until(stage.settled)


def keep_picture(stage: ChatStage, name: str) -> None:
    folder = os.environ.get("HERMES_PICTURES")
    if folder:
        QApplication.processEvents()
        stage.page.grab().save(f"{folder}/{name}.png")


@pytest.mark.parametrize("dark", [False, True])
async def test_what_where_why_and_once(stage: ChatStage, tmp_path: Path, dark: bool) -> None:
    stage.theme.set_scheme("dark" if dark else "light")
    async with stage:
        desk = desk_of(stage)
        await ask(stage, desk)
        sheet = desk.sheet
        assert sheet.isVisible()
        assert not desk.dialog.isVisible()
        assert sheet.title.text() == "May the assistant do this?"
        assert sheet.what.toPlainText() == "rm -rf build"
        assert sheet.where.text() == f"terminal, in {tmp_path / 'work'}"
        assert "deletes folders" in sheet.why.text()
        assert "Denied by itself in" in sheet.left.text()
        assert sheet.buttons["deny"].isDefault()
        assert sheet.accessibleName()
        assert "rm -rf build" in sheet.accessibleDescription()
        keep_picture(stage, f"sheet-{'dark' if dark else 'light'}")
        sheet.buttons["once"].click()
        await done(stage)
        assert not sheet.isVisible()
        assert not (tmp_path / "work" / "build").exists()
        assert stage.texts() == ["Remove build", "I clean up.", "All clean."]
        keep_picture(stage, f"after-{'dark' if dark else 'light'}")
        desk.close()


async def test_escape_denies(stage: ChatStage, tmp_path: Path) -> None:
    async with stage:
        desk = desk_of(stage)
        await ask(stage, desk)
        assert desk.sheet.buttons["deny"].hasFocus()
        QTest.keyClick(desk.sheet.buttons["deny"], Qt.Key.Key_Escape)
        await done(stage)
        assert (tmp_path / "work" / "build").exists()
        assert "denied it" in stage.server.requests[-1].messages[-1]["content"]
        desk.close()


async def test_who_types_goes_on_typing(stage: ChatStage) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        stage.server.script(tool_call("terminal", command="rm -rf build"))
        stage.server.script(text("Well."))
        stage.say("Remove build")
        stage.page.composer.set_text("And then")
        stage.page.composer.field.setFocus()
        await stage.until(lambda: desk.sheet.request is not None)
        assert stage.page.composer.field.hasFocus()
        desk.sheet.deny()
        await done(stage)
        assert stage.page.composer.text == "And then"
        desk.close()


async def test_a_hidden_window_asks_in_a_dialog(stage: ChatStage, tmp_path: Path) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        stage.page.hide()
        await ask(stage, desk)
        await stage.until(desk.dialog.isVisible)
        stage.page.show()
        await stage.until(lambda: not desk.dialog.isVisible())
        assert desk.sheet.isVisible()
        stage.page.hide()
        await stage.until(desk.dialog.isVisible)
        desk.dialog.reject()
        await stage.until(lambda: stage.finished)
        assert not desk.dialog.isVisible()
        assert (tmp_path / "work" / "build").exists()
        desk.close()


async def test_stopping_the_reply_takes_the_question_away(stage: ChatStage) -> None:
    async with stage:
        desk = desk_of(stage)
        await ask(stage, desk)
        session_id = stage.services.approvals.pending()[0].session_id
        await stage.services.chat.stop(session_id)
        await stage.until(lambda: desk.sheet.request is None)
        await stage.until(lambda: stage.finished)
        assert stage.finished[-1].outcome == "stopped"
        desk.close()


async def test_without_a_desk_nothing_waits(stage: ChatStage, tmp_path: Path) -> None:
    async with stage:
        stage.page.new_chat()
        stage.server.script(tool_call("terminal", command="rm -rf build"))
        stage.server.script(text("It was not allowed."))
        await stage.say_and_wait("Remove build")
        assert "nobody can be asked" in stage.server.requests[-1].messages[-1]["content"]
        assert (tmp_path / "work" / "build").exists()


async def test_what_is_said_after_a_tool_streams_below_what_was_said_before(
    stage: ChatStage,
) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        stage.server.script(tool_call("todo", "First I look."))
        stage.server.script(hang("Then I say"))
        stage.say("Go")
        await stage.until(lambda: stage.texts()[-1:] == ["Then I say"])
        await stage.until(lambda: stage.texts() == ["Go", "First I look.", "Then I say"])
        await stage.services.chat.stop(stage.page.current_session_id)
        await stage.until(lambda: stage.finished)
        await stage.until(stage.settled)
        assert stage.texts() == ["Go", "First I look.", "Then I say"]
        desk.close()
