"""The whole window by keys alone, and by ear: sessions, platforms, a tool line, usage."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QMenu, QWidget

from hermes_desktop.services.assembly.demo_home import create_demo_home
from hermes_desktop.ui.chat.header.usage_dialog import UsageDialog
from hermes_desktop.ui.shell.rail import Rail
from hermes_desktop.ui.transcript.blocks.fold import FoldButton
from tests.fakes.model_server import text, tool_call
from tests.fakes.window_stage import WindowStage

pytestmark = pytest.mark.asyncio

NOW = 1_795_780_000.0


@pytest.fixture
def stage(tmp_path, theme) -> WindowStage:
    home = tmp_path / "home"
    home.mkdir()
    create_demo_home(home, now=NOW)
    stage = WindowStage(home, theme)
    model = {"default": "fake-model", "base_url": stage.server.base_url, "provider": "custom"}
    work = tmp_path / "work"
    work.mkdir()
    (home / "config.yaml").write_text(
        json.dumps({"model": model, "terminal": {"cwd": str(work)}}), encoding="utf-8"
    )
    stage.configure = lambda: None
    return stage


def heard(widget: QWidget) -> str:
    spoken = QAccessible.queryAccessibleInterface(widget)
    return str(spoken.text(QAccessible.Text.Name)) if spoken is not None else ""


def reachable(window: QWidget) -> list[QWidget]:
    return [
        each for each in window.findChildren(QWidget)
        if each.focusPolicy() & Qt.FocusPolicy.TabFocus
        and each.isVisibleTo(window) and each.isEnabled()
        and not isinstance(each.parentWidget(), QAbstractScrollArea)
    ]  # fmt: skip


def walk(window: QWidget) -> list[QWidget]:
    """Press Tab until the walk is back where it began."""
    walked = [window.focusWidget()]
    for _ in range(200):
        QTest.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        if window.focusWidget() is walked[0]:
            return walked
        walked.append(window.focusWidget())
    pytest.fail(f"a trap: {[heard(each) for each in walked[-3:]]}")


async def say_with_a_tool(stage: WindowStage) -> None:
    stage.server.script(
        tool_call("todo", "I make a list.", todos=[{"id": "1", "content": "Water"}]),
        text("Done.", usage=(1_200, 30)),
    )
    stage.window.new_chat()
    await stage.type_and_send("Make a list")
    await stage.until(lambda: not stage.window.page.view.live.turns)


async def test_everything_of_the_sessions_page_has_a_name_and_is_reached(stage) -> None:
    async with stage:
        await say_with_a_tool(stage)
        window = stage.window
        wanted = reachable(window)
        nameless = [repr(each) for each in wanted if not heard(each).strip()]
        assert not nameless
        window.page.composer.field.setFocus()
        walked = walk(window)
        assert set(wanted) <= set(walked)


async def test_the_rail_leads_to_every_page_by_tab_and_space(stage) -> None:
    async with stage:
        window = stage.window
        rail = window.findChild(Rail)
        pages = (rail.sessions_button, rail.platforms_button, rail.settings_button)
        rail.sessions_button.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(rail.sessions_button, Qt.Key.Key_Tab)
        assert window.focusWidget() is rail.platforms_button
        QTest.keyClick(rail.platforms_button, Qt.Key.Key_Space)
        await stage.until(window.gateway.page.isVisible)
        assert [each.isChecked() for each in pages] == [False, True, False]
        QTest.keyClick(rail.platforms_button, Qt.Key.Key_Space)
        assert [each.isChecked() for each in pages] == [False, True, False]
        rail.settings_button.click()
        await stage.until(lambda: window.settings.shows)
        assert [each.isChecked() for each in pages] == [False, False, True]
        window._actions["focus_list"].trigger()
        assert [each.isChecked() for each in pages] == [True, False, False]


async def test_everything_of_the_platforms_page_has_a_name_and_is_reached(stage) -> None:
    async with stage:
        window = stage.window
        window.show_platforms()
        await stage.until(window.gateway.page.isVisible)
        wanted = reachable(window)
        nameless = [repr(each) for each in wanted if not heard(each).strip()]
        assert not nameless
        window.gateway.page.area.setFocus()
        assert set(wanted) <= set(walk(window))


async def test_a_tool_line_is_opened_and_usage_is_read_by_keys(stage) -> None:
    async with stage:
        await say_with_a_tool(stage)
        window = stage.window
        window.page.composer.field.setFocus()
        line = next(each for each in walk(window) if isinstance(each, FoldButton))
        assert "todo" in heard(line)
        line.setFocus()
        QTest.keyClick(line, Qt.Key.Key_Space)
        assert line.isChecked()
        assert "expanded" in heard(line)
        more = window.page.header.more
        more.setFocus()
        QTest.keyClick(more, Qt.Key.Key_Space)
        await stage.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        usage = next(each for each in menu.actions() if "Usage" in each.text())
        menu.setActiveAction(usage)
        QTest.keyClick(menu, Qt.Key.Key_Return)
        await stage.until(lambda: window.findChildren(UsageDialog))
        dialog = window.findChildren(UsageDialog)[0]
        await stage.until(dialog.isVisible)
        assert all(line.accessibleName() for line in dialog.lines)
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        await stage.until(lambda: not window.findChildren(UsageDialog))
