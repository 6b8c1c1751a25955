"""Who asks to be let in and who was, read when somebody is answered or asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from hermes_desktop.ui.gateway.wanted import Person

if TYPE_CHECKING:
    from hermes_desktop.ui.settings.fields.parts import SettingsContext


class PeopleFeed(QObject):
    """Main thread only.

    Args:
        context: The frame's.
        parent: Lives as long.

    Signals:
        read: :attr:`waiting` and :attr:`let_in` are known.
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
        """Read it again; calls while it is read come to one more reading."""
        if self._reading:
            self._again = True
            return
        self._reading = True
        self._context.slots.start(self._read(), doing=self.tr("Reading who may write"))

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
