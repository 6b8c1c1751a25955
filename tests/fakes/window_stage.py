"""The whole window with its real parts, on any home, with a scripted model on loopback.

For tests in which the window and another process work on one history.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QTextEdit, QWidget

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.ui.chat.chat_page import ChatPage
from hermes_desktop.ui.shell.main_window import FIRST_SIZE, MainWindow
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.model_server import ModelServer
from tests.support.waiting import PATIENCE_S, until

Shown = TypeVar("Shown", bound=QWidget)
CHECKOUT = Path(__file__).parents[2]


def point_home_at(home: Path, server: ModelServer) -> None:
    """Configure the server as the model of a home."""
    (home / "config.yaml").write_text(
        f"model:\n  default: fake-model\n  base_url: {server.base_url}\n", encoding="utf-8"
    )


class WindowStage:
    """One shown window; use as ``async with``. Everything in it is real but the model."""

    def __init__(self, home: Path, theme: Theme, environ: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.environ = environ or {}
        self.theme = theme
        self.server = ModelServer()
        self.finished: list[TurnFinished] = []

    async def __aenter__(self) -> Self:
        self.server.__enter__()
        try:
            await self._show()
        except BaseException:
            self.server.close()
            raise
        return self

    def configure(self) -> None:
        """Write the settings of the home."""
        point_home_at(self.home, self.server)

    async def _show(self) -> None:
        self.configure()
        # With the home of the person who runs the tests, tools would work in its documents folder.
        environ = {"HOME": str(self.home.parent), **self.environ}
        paths = HermesPaths(self.home, self.home)
        self.services = build_services(
            paths, redactor=SecretRedactor(), environ=environ, hosts=False
        )
        self.services.bus.subscribe(TurnFinished, self.finished.append)
        slots = AsyncSlots(self.services.tasks, self.services.bus)
        self.bridge = EventBridge(self.services.bus)
        page = ChatPage(services=self.services, slots=slots, bridge=self.bridge, theme=self.theme)
        self.window = MainWindow(
            services=self.services, slots=slots, bridge=self.bridge, theme=self.theme, page=page,
            tray_available=lambda: True, clock=SystemClock(), demo=False,
        )  # fmt: skip
        self.window.resize(FIRST_SIZE)
        await self.services.start()
        self.window.show()
        self.window.begin()

    async def __aexit__(self, *_: object) -> None:
        try:
            self.window.prepare_to_end()
            await self.services.close(drain_s=0.0)
        finally:
            self.window.close()
            self.window.deleteLater()
            self.bridge.close()
            await asyncio.to_thread(self.server.close)

    async def until(self, check: Callable[[], object], seconds: float = PATIENCE_S) -> None:
        """Run the loop until a condition is true."""
        await until(check, seconds)

    async def until_shown(self, kind: type[Shown]) -> Shown:
        """Run the loop until the window shows a dialog of that kind, and return it."""
        await self.until(lambda: self._shown(kind))
        return self._shown(kind)[0]

    def _shown(self, kind: type[Shown]) -> list[Shown]:
        return [each for each in self.window.findChildren(kind) if each.isVisible()]

    async def open(self, session_id: str) -> None:
        """Select a session in the list, as a click does."""
        view = self.window.pane.view
        await self.until(lambda: view.model().row_of_session(session_id) >= 0)
        index = view.model().index(view.model().row_of_session(session_id), 0)
        view.scrollTo(index)
        QTest.mouseClick(
            view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(index).center()
        )
        await self.until(lambda: self.window.page.current_session_id == session_id)
        await self.until(self.shown_text)

    async def type_and_send(self, text: str) -> TurnFinished:
        """Type into the composer, press Enter, and wait for the end of that turn."""
        before = len(self.finished)
        composer = self.window.page.composer
        await self.until(composer.field.isEnabled)
        composer.field.setFocus()
        QTest.keyClicks(composer.field, text)
        QTest.keyClick(composer.field, Qt.Key.Key_Return)
        await self.until(lambda: len(self.finished) > before)
        return self.finished[before]

    def shown_text(self) -> str:
        """Return the text of the transcript, from top to bottom."""
        return "\n".join(_texts(self.window.page.view))

    def told(self, request: int = -1) -> list[str]:
        """Return the messages of a request to the model, without the system prompt."""
        messages = self.server.requests[request].messages
        return [f"{m['role']}: {m['content']}" for m in messages if m["role"] != "system"]

    async def command_line(self, *arguments: str) -> str:
        """Run ``hermes-desktop`` on the same home as a separate process."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "hermes_desktop", *arguments,
            env={"PATH": os.environ["PATH"], "HERMES_HOME": str(self.home),
                 "HOME": str(self.home.parent), "PYTHONPATH": str(CHECKOUT), "LC_ALL": "C.UTF-8"},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode()


def _texts(widget: QWidget) -> list[str]:
    found = []
    for child in widget.findChildren(QWidget):
        if isinstance(child, QTextEdit | QPlainTextEdit) and child.isVisibleTo(widget):
            found.append(child.toPlainText())
        elif isinstance(child, QLabel) and child.isVisibleTo(widget):
            found.append(child.text())
    return found
