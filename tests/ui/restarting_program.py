"""A program that upgrades below itself and restarts by its button; run as a script.

It writes a line into the file ``REPORT`` for each run. The second run ends the program.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import hermes_desktop

REPORT = Path(os.environ["REPORT"])
FIRST = not REPORT.exists()
if not FIRST:
    hermes_desktop.__version__ = "9.9.0"

from hermes_desktop.__main__ import main  # noqa: E402
from hermes_desktop.core.events import VersionsChanged  # noqa: E402
from hermes_desktop.ui.start import desktop_program  # noqa: E402


def report(facts: dict[str, Any]) -> None:
    with REPORT.open("a", encoding="utf-8") as file:
        file.write(json.dumps(facts) + "\n")


class DrivenProgram(desktop_program.DesktopProgram):
    async def _run_open(self, services: Any, window: Any, tray: Any) -> None:
        driving = asyncio.ensure_future(self._drive(services, window))
        await super()._run_open(services, window, tray)
        await driving

    async def _drive(self, services: Any, window: Any) -> None:
        if FIRST:
            await services.updates.look()
            while services.gateway.state != "running":
                await services.gateway.start()
                await asyncio.sleep(0.01)
        else:
            while services.gateway.state != "running" or not services.updates.news.previous:
                await asyncio.sleep(0.01)
        facts = {
            "pid": os.getpid(),
            "argv": sys.argv[1:],
            "minimized": window.isMinimized(),
            "told": window.updates.title.text(),
        }
        report(facts)
        if FIRST:
            window.updates.show_news(VersionsChanged("0.1.0", installed="9.9.0"))
            window.updates.restart.click()
        else:
            self.ask_to_quit()


desktop_program.DesktopProgram = DrivenProgram  # type: ignore[misc]
raise SystemExit(main())
