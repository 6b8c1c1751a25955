"""The feed of pairing requests and paired senders, read again on every change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from hermes_desktop.ui.gateway.gateway_protocols import Person

if TYPE_CHECKING:
    from hermes_desktop.ui.settings.fields.parts import SettingsContext


class SendersFeed(QObject):
    """Reads the lists of the pairing service. Main thread only.

    Args:
        context: Context of the settings.
        parent: Qt parent.

    Signals:
        read: :attr:`waiting` and :attr:`let_in` are up to date.
    """

    read = Signal()

    def __init__(self, context: SettingsContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._reading = False
        self._again = False
        self.waiting: list[Person] = []
        self.let_in: list[Person] = []
        context.bridge.pairing_changed.connect(lambda _: self.refresh())

    def refresh(self) -> None:
        """Read again; calls during a read result in one more read."""
        if self._reading:
            self._again = True
            return
        self._reading = True
        self._context.slots.start(self._read(), doing=self.tr("Loading people"))

    async def _read(self) -> None:
        desk, now = self._context.services.pairing, self._context.clock.time()
        try:
            self.waiting = [Person.waiting(each, now) for each in await desk.pending()]
            self.let_in = [Person.paired(each) for each in await desk.approved()]
        except Exception:
            self._reading = False
            raise
        self._reading = False
        self.read.emit()
        if self._again:
            self._again = False
            self.refresh()
