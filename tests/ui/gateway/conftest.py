"""The gateway's part of the window, with real requests of people and a gateway that is scripted."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QVBoxLayout, QWidget

from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice, NoticeCleared
from hermes_desktop.gateway.access.pairing import PairingStore
from hermes_desktop.services.hosting.pairing_requests import PairingRequests
from hermes_desktop.ui.gateway.gateway_questions import ConfirmationDialog
from hermes_desktop.ui.gateway.gateway_view import GatewayView
from hermes_desktop.ui.gateway.status_strip import StatusStrip
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.clock import MovableClock
from tests.fakes.scripted_gateway import ScriptedGateway
from tests.support.waiting import until


class GatewayStage:
    """A small window of strip, banner and page.

    Attributes:
        clock: Moves when told; begins at ``scripted_gateway.NOW``.
        store: The files of requests, as the gateway writes them.
        notices: What was told, without what was cleared since.
        told: Notifications for a hidden window.
    """

    def __init__(
        self, home: Path, bus: EventBus, bridge: EventBridge, tasks: TaskSet, theme: Theme
    ) -> None:
        self.bus = bus
        self.clock = MovableClock()
        self.gateway = ScriptedGateway(bus)
        self.store = PairingStore(home, self.clock)
        self.worker = WorkerThreads("test-pairing")
        self.desk = PairingRequests(self.store, worker=self.worker, bus=bus, clock=self.clock)
        self.notices: list[Notice] = []
        self.told: list[tuple[str, str]] = []
        bus.subscribe(Notice, self.notices.append)
        bus.subscribe(NoticeCleared, self._cleared)
        self.window = QWidget()
        self.strip = StatusStrip(theme)
        self.view = GatewayView(
            control=self.gateway,
            desk=self.desk,
            slots=AsyncSlots(tasks, bus),
            bus=bus,
            bridge=bridge,
            theme=theme,
            clock=self.clock,
            strip=self.strip,
            window=self.window,
        )
        self.view.told.connect(lambda *words: self.told.append(words))
        self.page = self.view.page
        column = QVBoxLayout(self.window)
        for part in (self.view.banner, self.page, self.strip):
            column.addWidget(part)
        self.window.resize(900, 900)
        self.window.setLayoutDirection(Qt.LayoutDirection.LeftToRight)

    def show(self, *, page: bool = True) -> None:
        """Show the window, with or without the page."""
        self.page.setVisible(page)
        self.window.show()
        self.view.set_visible(True)

    async def until(self, check: Callable[[], object]) -> None:
        await until(check)

    async def question(self) -> ConfirmationDialog:
        """The question that stands open."""
        await self.until(self.questions)
        return self.questions()[0]

    def questions(self) -> list[ConfirmationDialog]:
        found = (w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog))
        return [w for w in found if isinstance(w, ConfirmationDialog) and w.isVisible()]

    async def idle(self) -> None:
        """Wait until nothing is being done."""
        await self.until(lambda: not self.view.commands.busy)

    def close(self) -> None:
        self.view.close()
        self.worker.close()
        self.window.close()
        self.window.deleteLater()

    def _cleared(self, cleared: NoticeCleared) -> None:
        self.notices[:] = [each for each in self.notices if each.key != cleared.key]


def press(button: QPushButton) -> None:
    """Space on a button that has the focus, as from the keyboard."""
    assert button.isVisible()
    assert button.isEnabled()
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)


@pytest.fixture
def stage(
    qapp: QApplication,
    theme: Theme,
    bus: EventBus,
    bridge: EventBridge,
    tasks: TaskSet,
    tmp_path: Path,
) -> Iterator[GatewayStage]:
    stage = GatewayStage(tmp_path, bus, bridge, tasks, theme)
    yield stage
    stage.close()
