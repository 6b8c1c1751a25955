"""Quitting while something waits for a person."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from hermes_desktop.core.events import TurnFinished
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.core.processes.exit_deadline import ExitDeadline
from hermes_desktop.ui.shell.main_window import MainWindow
from hermes_desktop.ui.start.application import LoopWatchdog
from hermes_desktop.ui.start.desktop_program import DesktopProgram, ProgramSetup
from hermes_desktop.ui.start.single_instance import SingleInstance, instance_name
from tests.fakes.model_server import ModelServer, text, tool_call
from tests.support.waiting import until


def the_window() -> MainWindow | None:
    windows = [each for each in QApplication.topLevelWidgets() if isinstance(each, MainWindow)]
    return next((each for each in windows if each.isVisible()), None)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("clarify", {"question": "Which port?"}), "being closed"),
        (("terminal", {"command": "rm -rf build"}), "being closed"),
    ],
)
async def test_quitting_waits_for_no_answer(
    qapp: QApplication, tmp_path: Path, call: tuple[str, dict[str, Any]], words: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    instance = SingleInstance(instance_name(home, home, demo=False))
    assert instance.acquire()
    watchdog, deadline = LoopWatchdog(), ExitDeadline()
    with ModelServer() as server:
        model = {"default": "m", "base_url": server.base_url}
        config = {
            "model": model,
            "desktop": {"start_gateway": False},
            "approvals": {"sandboxed_commands": "off"},
        }
        (home / "config.yaml").write_text(json.dumps(config))
        setup = ProgramSetup(HermesPaths(home, home), SecretRedactor(), color_scheme="light")
        program = DesktopProgram(setup, qapp, instance, watchdog, deadline)
        running = asyncio.ensure_future(program.run())
        window = await until(the_window)
        services = window._services
        await until(lambda: services.tasks)  # the watching begins once the chat is open
        ends: list[TurnFinished] = []
        services.bus.subscribe(TurnFinished, ends.append)
        server.script(tool_call(call[0], **call[1]), text("Good bye."))
        await services.chat.send("Do it", session_id=None)
        await until(lambda: services.requests.pending() or services.requests.pending())
        program.ask_to_quit()
        assert await running == 0
        assert [(end.outcome, end.reply) for end in ends] == [("done", "Good bye.")]
        assert words in server.requests[-1].messages[-1]["content"]
    deadline.disarm()
    watchdog.close()
    instance.close()
    instance.deleteLater()
