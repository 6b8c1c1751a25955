"""Detection of other programs that may be answering in the shown session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

if TYPE_CHECKING:
    from hermes_desktop.services.hosting.desktop_chat import DesktopChat
    from hermes_desktop.ui.chat.shown_session import ShownSession
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots

AGAIN_MS = 5_000


class OtherProgramsWatcher(QObject):
    """A watcher that checks when a session is shown or changes, and again while it finds something.

    Attributes:
        words: The text to show, "" for nothing.

    Args:
        chat: Detects what other programs do.
        slots: Runs the checks.
        parent: The owner.

    Signals:
        changed: ``words`` changed.
    """

    changed = Signal()

    def __init__(self, chat: DesktopChat, slots: AsyncSlots, parent: QObject) -> None:
        super().__init__(parent)
        self.words = ""
        self._chat = chat
        self._slots = slots
        self._shown: ShownSession | None = None
        self._again = QTimer(self, singleShot=True, interval=AGAIN_MS)
        self._again.timeout.connect(self._start)

    def follow(self, shown: ShownSession) -> None:
        """Check after another session was shown or the row of this one was read again."""
        if shown is not self._shown:
            self._take("")
        self._shown = shown
        self._start()

    def _start(self) -> None:
        self._again.stop()
        shown = self._shown
        if shown is None or shown.summary is None:
            self._take("")
            return
        self._slots.start(self._look(shown), doing=self.tr("Looking for other programs"))

    async def _look(self, shown: ShownSession) -> None:
        if shown.summary is None:
            return
        words = await self._chat.foreign_activity_warning(shown.summary)
        if shown is self._shown:
            self._take(words)
            if words:
                self._again.start()

    def _take(self, words: str) -> None:
        if words != self.words:
            self.words = words
            self.changed.emit()
