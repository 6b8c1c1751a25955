"""The window with a real gateway behind it: identity process, chat service on a socket, model."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE
from hermes_desktop.ui.chat.chat_page import ChatPage
from hermes_desktop.ui.gateway.gateway_questions import ConfirmationDialog
from hermes_desktop.ui.shell.main_window import FIRST_SIZE, MainWindow
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.identity import gateway_lookalike, write_record
from tests.fakes.model_server import HANG, Reply
from tests.ui.gateway.conftest import press

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]


@contextlib.asynccontextmanager
async def window_on(stage: HostStage, theme: Theme) -> AsyncIterator[MainWindow]:
    """The whole window on the services of a stage."""
    slots = AsyncSlots(stage.services.tasks, stage.services.bus)
    bridge = EventBridge(stage.services.bus)
    parts = {"services": stage.services, "slots": slots, "bridge": bridge, "theme": theme}
    window = MainWindow(
        **parts, page=ChatPage(**parts), tray_available=lambda: True, clock=SystemClock()
    )
    window.resize(FIRST_SIZE)
    window.show()
    window.begin()
    try:
        yield window
    finally:
        window.prepare_to_end()
        window.close()
        bridge.close()
        window.deleteLater()


def question() -> ConfirmationDialog | None:
    found = (w for w in QApplication.topLevelWidgets() if isinstance(w, ConfirmationDialog))
    return next((w for w in found if w.isVisible()), None)


async def test_started_paused_and_stopped_from_the_page(qapp, theme, tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage, window_on(stage, theme) as window:
        window.show_platforms()
        page = window.gateway.page
        press(page.card.buttons["start"])
        await stage.until(lambda: "Gateway running · Telegram" in window._status.text)
        await stage.until(page.list.isVisible)
        assert page.list.selected.state == "connected"
        press(page.list.pause)
        await stage.until(page.list.resume.isVisible)
        assert "Telegram paused" in window._status.text
        press(page.list.resume)
        await stage.until(lambda: page.list.selected.state == "connected")
        stage.chat.say("hello", chat="c1", user="u1")
        await stage.until(lambda: stage.chat.texts("c1") and not window.gateway.replies.count)
        press(page.card.buttons["stop"])
        await stage.until(lambda: "Gateway stopped" in window._status.text)
        assert stage.host.state == "stopped"


async def test_how_long_ago_a_platform_was_heard_of_is_always_true(
    qapp, theme, tmp_path: Path
) -> None:
    """Being heard of is no news on the bus; whoever tells the age looks."""
    async with host_stage(tmp_path) as stage, window_on(stage, theme) as window:
        await stage.host.start()
        heard = stage.host.look().platforms[0].last_heard_at
        stage.chat.say("hello", chat="c1", user="u1")
        await stage.until(lambda: stage.host.look().platforms[0].last_heard_at > heard)
        window.gateway.refresh()
        assert "Telegram just now" in window._status.text


async def test_a_running_reply_is_named_before_the_gateway_stops(
    qapp, theme, tmp_path: Path
) -> None:
    async with host_stage(tmp_path) as stage, window_on(stage, theme) as window:
        await stage.host.start()
        stage.model.script(Reply([HANG]))
        stage.chat.say("a long story", chat="c1", user="u1")
        await stage.until(lambda: window.gateway.replies.count == 1)
        window.gateway.commands.run("stop")
        await stage.until(question)
        asked = question()
        assert "“a long story” – Telegram" in asked.accessibleDescription()
        press(asked.agree)
        await stage.until(lambda: "waiting for 1 reply" in window._status.text)
        window.gateway.commands.run("hurry")
        await stage.reach("stopped")


async def test_another_gateway_is_told_of_and_taken_over_when_a_person_wants_it(
    qapp, theme, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "hermes"
    program.parent.mkdir()
    async with (
        host_stage(tmp_path, path=str(program.parent)) as stage,
        window_on(stage, theme) as window,
    ):
        banner = window.gateway.banner
        with gateway_lookalike() as record:
            write_record(stage.home / PID_FILE, record)
            await stage.until(banner.isVisible)
            assert "The hermes gateway (running for" in banner.words.text()
            program.write_text("#!/bin/sh\necho it cannot be stopped; exit 1\n")
            program.chmod(0o755)
            await take_over(stage, window)
            await stage.until(lambda: not window.gateway.commands.busy)
            notice = window.notices.current
            assert notice.level == "warning"
            assert "cannot be stopped" in notice.detail
            assert banner.isVisible()
            program.write_text(f"#!/bin/sh\nkill -9 {record.pid}\n")
            await take_over(stage, window)
            await stage.reach("running")
        await stage.until(lambda: not banner.isVisible())
        await stage.until(lambda: window.notices.current.level == "ok")


async def take_over(stage: HostStage, window: MainWindow) -> None:
    press(window.gateway.banner.action)
    await stage.until(question)
    press(question().agree)
    await stage.until(lambda: question() is None)
