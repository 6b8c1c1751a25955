"""While the assistant waits for the user, the window says so and not that it works."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.ui.sessions.session_list_model import WAITING_ROLE
from hermes_desktop.ui.shell.asking import Asking
from hermes_desktop.ui.transcript.tool_fold import ToolLine
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.model_server import text, tool_call
from tests.fakes.window_stage import WindowStage

pytestmark = pytest.mark.asyncio

APPROVAL = ("terminal", {"command": "rm -rf build"})
QUESTION = ("clarify", {"question": "Which port?", "choices": ["80", "443"]})


class Stage(WindowStage):
    def configure(self) -> None:
        work = self.home.parent / "work"
        (work / "build").mkdir(parents=True)
        config = {
            "model": {"default": "fake-model", "base_url": self.server.base_url},
            "auxiliary": {"title_generation": {"enabled": False}},
            "terminal": {"cwd": str(work)},
            "approvals": {"sandboxed_commands": "off"},
        }
        (self.home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")

    def lines(self) -> list[ToolLine]:
        return [line for line in self.window.page.view.findChildren(ToolLine) if line.isVisible()]

    def row_text(self, role: int = int(Qt.ItemDataRole.AccessibleTextRole)) -> object:
        model = self.window.pane.view.model()
        row = model.row_of_session(self.window.page.current_session_id or "")
        return model.data(model.index(row, 0), role)


@pytest.mark.parametrize("tool", [APPROVAL, QUESTION], ids=["approval", "question"])
async def test_header_row_strip_and_line_say_that_it_waits(
    tmp_path: Path, theme: Theme, tool: tuple[str, dict[str, object]]
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    name, arguments = tool
    async with Stage(home, theme) as stage:
        window = stage.window
        asking = Asking(
            stage.services, stage.bridge, page=window.page, window=window, theme=theme,
            clock=SystemClock(),
        )  # fmt: skip
        asking.open()
        stage.server.script(tool_call(name, "First this.", **arguments))
        stage.server.script(text("Done."))
        window.new_chat()
        field = window.page.composer.field
        await stage.until(field.isEnabled)
        field.setFocus()
        QTest.keyClicks(field, "Begin")
        QTest.keyClick(field, Qt.Key.Key_Return)
        sheet = asking.presenter.sheet
        await stage.until(lambda: sheet.armed)

        header, strip = window.page.header, window._status
        assert header.state.text() == "○ waiting for your answer"
        await stage.until(lambda: "Waiting for your answer" in strip.text)
        assert "Working" not in strip.text
        await stage.until(lambda: stage.row_text(WAITING_ROLE) is True)
        assert str(stage.row_text()).endswith("waiting for your answer")
        await stage.until(lambda: [line.button.words.mark for line in stage.lines()] == ["asked"])
        assert stage.lines()[0].button.words.end == "waiting for your answer"
        assert window.page.composer.stop_button.isVisible()

        (sheet.approval.buttons["once"] if tool is APPROVAL else sheet.question.buttons[0]).click()
        await stage.until(lambda: stage.finished)
        await stage.until(lambda: header.state.text() == "")
        await stage.until(lambda: "Waits" not in strip.text)
        assert stage.row_text(WAITING_ROLE) is False
        assert stage.lines()[0].button.words.mark == "ok"
        asking.end()
