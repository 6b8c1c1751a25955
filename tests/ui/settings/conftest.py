"""The page of settings on real services and a real home; no gateway, no model is asked."""

import contextlib
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QWidget

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import Notice
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.ui.settings.settings_view import SettingsView
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from tests.support.waiting import until


class SettingsStage:
    """The view alone, shown, on a home; use as ``async with``.

    Attributes:
        notices: What was told above the page.
        restarts: How often the gateway was to be restarted.
    """

    def __init__(self, home: Path, theme: Theme, environ: dict[str, str] | None = None) -> None:
        self.home = home
        self.theme = theme
        self.environ = environ or {}
        self.notices: list[Notice] = []
        self.restarts = 0

    async def __aenter__(self) -> Self:
        self.services = build_services(
            HermesPaths(self.home, self.home),
            redactor=SecretRedactor(), environ=self.environ, hosts=False,
        )  # fmt: skip
        self.services.bus.subscribe(Notice, self.notices.append)
        self.bridge = EventBridge(self.services.bus)
        await self.services.start()
        self.view = SettingsView(
            services=self.services,
            slots=AsyncSlots(self.services.tasks, self.services.bus),
            bridge=self.bridge, theme=self.theme, clock=SystemClock(),
            restart_gateway=self._restart,
        )  # fmt: skip
        self.view.resize(1070, 660)
        self.view.show()
        self.view.come_forward()
        self.view.activateWindow()  # shortcuts count in the active window; none is without a
        await self.until(self.view.isActiveWindow)  # window manager, unless asked for
        await self.until(lambda: self.view.ready or self.view.broken.isVisible())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.view.stack.end()
        await self.services.close(drain_s=0.0)
        self.view.close()
        self.view.deleteLater()
        self.bridge.close()

    def _restart(self) -> None:
        self.restarts += 1

    @property
    def config(self) -> str:
        """What stands in config.yaml."""
        return (self.home / "config.yaml").read_text(encoding="utf-8")

    def write(self, text: str) -> None:
        """Somebody else writes config.yaml."""
        (self.home / "config.yaml").write_text(text, encoding="utf-8")

    async def until(self, check: Callable[[], object]) -> None:
        """Let the loop run until something is true."""
        await until(check)

    async def dialog(self, kind: type[QDialog]) -> QDialog:
        """The dialog of that kind, once it shows."""
        await self.until(lambda: self._dialogs(kind))
        return self._dialogs(kind)[0]

    def _dialogs(self, kind: type[QDialog]) -> list[QDialog]:
        return [each for each in self.view.findChildren(kind) if each.isVisible()]

    def press(self, key: Qt.Key, widget: QWidget | None = None) -> None:
        """Press a key where the focus is, or in a widget."""
        QTest.keyClick(widget or self.view.focusWidget() or self.view, key)


@contextlib.contextmanager
def without_room(home: Path, way: str) -> Iterator[None]:
    """Let nothing be written: no byte more fits, or the program's own folder is none."""
    if way == "disk":
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        return
    folder, aside = home / "desktop", home / "aside"
    there = folder.exists()
    if there:
        folder.rename(aside)
    folder.write_text("")
    try:
        yield
    finally:
        folder.unlink()
        if there:
            aside.rename(folder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def stage(home: Path, theme: Theme) -> SettingsStage:
    return SettingsStage(home, theme)
