"""The life of the program in this process: what quitting waits for, and what it leaves behind."""

import asyncio
import contextlib
import logging
import time
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from hermes_desktop.core.events import TurnFinished
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.processes.exit_deadline import ExitDeadline
from hermes_desktop.services.assembly.demo_home import create_demo_home
from hermes_desktop.services.sessions.live_catalog import ListQuery
from hermes_desktop.ui.shell.main_window import MainWindow
from hermes_desktop.ui.start.application import LoopWatchdog
from hermes_desktop.ui.start.desktop_program import DesktopProgram, ProgramSetup
from hermes_desktop.ui.start.single_instance import SingleInstance, instance_name


@pytest.fixture
def setup(tmp_path: Path) -> ProgramSetup:
    folder = tmp_path / "home"
    folder.mkdir()
    return ProgramSetup(
        paths=create_demo_home(folder, now=time.time()),
        redactor=SecretRedactor(),
        demo=True,
        color_scheme="light",
    )


@contextlib.contextmanager
def program_for(qapp, setup: ProgramSetup):
    home = setup.paths.home
    instance = SingleInstance(instance_name(home, home, demo=True))
    assert instance.acquire()
    watchdog = LoopWatchdog()
    deadline = ExitDeadline()
    yield DesktopProgram(setup, qapp, instance, watchdog, deadline)
    deadline.disarm()
    watchdog.close()
    instance.close()
    instance.deleteLater()


@pytest.fixture
def program(qapp, setup):
    with program_for(qapp, setup) as made:
        yield made


async def the_window() -> MainWindow:
    async with asyncio.timeout(60):
        while True:
            for widget in QApplication.topLevelWidgets():
                if isinstance(widget, MainWindow) and widget.isVisible():
                    return widget
            await asyncio.sleep(0.01)


async def a_running_reply(window: MainWindow, text: str) -> list[TurnFinished]:
    services = window._services
    async with asyncio.timeout(60):
        while services.gateway.state != "running":
            await asyncio.sleep(0.01)
    session = (await services.catalog.page(ListQuery(limit=5))).rows[2]
    ends: list[TurnFinished] = []
    services.bus.subscribe(TurnFinished, ends.append)
    await services.chat.send(text, session_id=session.id)
    async with asyncio.timeout(60):
        while not services.gateway.status.running_turns:
            await asyncio.sleep(0.01)
    return ends


@pytest.mark.asyncio
async def test_it_runs_until_asked_and_logs_nothing_bad(program, caplog) -> None:
    running = asyncio.ensure_future(program.run())
    window = await the_window()
    await asyncio.sleep(0.3)
    program.ask_to_quit()
    assert await running == 0
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert (window._services.paths.window_ini).is_file()


@pytest.mark.asyncio
async def test_quitting_waits_for_a_reply_in_sight(program) -> None:
    running = asyncio.ensure_future(program.run())
    window = await the_window()
    ends = await a_running_reply(window, "Hello")
    program.ask_to_quit()
    await asyncio.sleep(0.05)
    assert window.isVisible()
    assert window.notices.current.key == "closing"
    assert await running == 0
    assert [end.outcome for end in ends] == ["done"]


@pytest.mark.asyncio
async def test_a_hidden_window_shows_what_quitting_waits_for(program) -> None:
    running = asyncio.ensure_future(program.run())
    window = await the_window()
    await a_running_reply(window, "Hello")
    window.hide()
    program.ask_to_quit()
    async with asyncio.timeout(60):
        while not window.isVisible():
            await asyncio.sleep(0.01)
    assert window.notices.current.key == "closing"
    assert await running == 0


@pytest.mark.asyncio
async def test_asked_again_it_does_not_wait(program) -> None:
    running = asyncio.ensure_future(program.run())
    window = await the_window()
    ends = await a_running_reply(window, "Could you write a small Python function, at length?")
    program.ask_to_quit()
    await asyncio.sleep(0.1)
    program.ask_to_quit()
    assert await running == 0
    assert [end.outcome for end in ends] == ["stopped"]


@pytest.mark.asyncio
async def test_hidden_without_a_tray_is_minimised(qapp, setup) -> None:
    hidden = ProgramSetup(setup.paths, setup.redactor, hidden=True, demo=True)
    with program_for(qapp, hidden) as program:
        running = asyncio.ensure_future(program.run())
        window = await the_window()
        assert window.isMinimized()
        program.ask_to_quit()
        assert await running == 0


@pytest.mark.asyncio
async def test_while_it_closes_nothing_new_is_begun(program) -> None:
    running = asyncio.ensure_future(program.run())
    window = await the_window()
    ends = await a_running_reply(window, "Could you write a small Python function, at length?")
    program.ask_to_quit()
    await asyncio.sleep(0.1)
    late = await window._services.chat.send("And one more thing")
    async with asyncio.timeout(60):
        while not ends:
            await asyncio.sleep(0.01)
    assert (ends[0].turn_id, ends[0].outcome) == (late.turn_id, "failed")
    assert ends[0].error_title == "Hermes Desktop is closing."
    program.ask_to_quit()
    assert await running == 0
    assert [end.outcome for end in ends] == ["failed", "stopped"]
