"""A chat page on a real home, with a scriptable model on loopback."""

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from PySide6.QtWidgets import QApplication, QDialog

from hermes_desktop.core.events import Notice, TurnFinished
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.state import SessionDB
from hermes_desktop.ui.chat.chat_page import ChatPage
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.model_server import ModelServer
from tests.support.waiting import until


class ChatStage:
    """The page with its services. Use as an asynchronous context manager.

    Attributes:
        server: The model; repeats the question when nothing is scripted.
        opened: Addresses that the page was asked to open.
    """

    def __init__(self, home: Path, theme: Theme) -> None:
        self.paths = HermesPaths(home, home)
        self.theme = theme
        self.server = ModelServer()
        self.opened: list[str] = []
        self.notices: list[Notice] = []
        self.finished: list[TurnFinished] = []
        self.configured = True

    async def __aenter__(self) -> Self:
        self.server.__enter__()
        if self.configured:
            self.configure()
        self.services = build_services(
            self.paths,
            redactor=SecretRedactor(),
            environ={"HOME": str(self.paths.home.parent)},
            hosts=False,
        )
        self.bus = self.services.bus
        self.bus.subscribe(Notice, self.notices.append)
        self.bus.subscribe(TurnFinished, self.finished.append)
        self.slots = AsyncSlots(self.services.tasks, self.bus)
        self.bridge = EventBridge(self.bus)
        self.page = ChatPage(
            services=self.services,
            slots=self.slots,
            bridge=self.bridge,
            theme=self.theme,
            open_address=self.opened.append,
        )
        self.page.resize(860, 720)
        self.page.show()
        self.services.watch.set_visible(True)
        await self.services.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.page.hide()
        await self.services.close(drain_s=0.0)
        self.server.close()
        self.page.deleteLater()
        self.bridge.close()

    def configure(self) -> None:
        """Configure the server as the model in config.yaml."""
        model = {"default": "fake-model", "base_url": self.server.base_url, "provider": "custom"}
        self.paths.config_yaml.write_text(json.dumps({"model": model}), encoding="utf-8")

    # ------------------------------------------------------------------------------- history
    def make_session(
        self, session_id: str, *texts: str, source: str = "cli", age_s: float = 86_400.0, **fields
    ) -> str:
        """Store a session; texts alternate between the user and the assistant."""
        title = fields.pop("title", None)
        with self.another_program() as db:
            db.create_session(session_id, source, **fields)
            if title:
                db.set_session_title(session_id, title)
            begin = time.time() - age_s
            for number, text in enumerate(texts):
                role = ("user", "assistant")[number % 2]
                db.append_message(session_id, role, text, timestamp=begin + number)
        return session_id

    @contextlib.contextmanager
    def another_program(self):
        """Open the same database as another process would."""
        db = SessionDB(self.paths.state_db)
        try:
            yield db
        finally:
            db.close()

    async def show(self, session_id: str) -> None:
        await self.page.show_session(await self.services.catalog.summary(session_id))
        await self.until(self.settled)

    # -------------------------------------------------------------------------------- queries
    def texts(self) -> list[str]:
        return [widget.plain() for widget in self.page.view.messages]

    def settled(self) -> bool:
        """Return whether every entry that should have a widget has one."""
        view = self.page.view
        wanted = [entry.key for entry in view.window_of_entries.shown]
        live = [item.key for item in view.live.items()]
        # A failure stands below its own message, wherever that is.
        return sorted(item.key for item in view.area.column.items) == sorted(wanted + live)

    def dialogs(self) -> list[QDialog]:
        widgets = QApplication.topLevelWidgets()
        return [w for w in widgets if isinstance(w, QDialog) and w.isVisible()]

    async def dialog(self) -> QDialog:
        await self.until(self.dialogs)
        return self.dialogs()[0]

    async def until(self, condition: Callable[[], object]) -> None:
        await until(condition)

    # ---------------------------------------------------------------------------------- actions
    def say(self, text: str) -> None:
        """Type a message and press Enter."""
        self.page.composer.set_text(text)
        self.page.composer.field.send_wanted.emit()

    async def say_and_wait(self, text: str) -> TurnFinished:
        count = len(self.finished)
        self.say(text)
        await self.until(lambda: len(self.finished) > count)
        return self.finished[-1]
