"""Commands of the window that undo turns: preview, carry out, report, restore."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog
from shiboken6 import isValid

from hermes_desktop.core.events import Notice, NoticeCleared
from hermes_desktop.services.sessions.live_undo import TurnUndoPreview
from hermes_desktop.services.sessions.undo_plan import UndoChoice
from hermes_desktop.ui.undo.undo_words import restored_words, undone_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from PySide6.QtWidgets import QWidget

    from hermes_desktop.core.event_bus import EventBus
    from hermes_desktop.services.sessions.live_undo import AsyncTurnUndo
    from hermes_desktop.services.sessions.session_changes import UnseenFiles
    from hermes_desktop.services.sessions.undo_plan import Step
    from hermes_desktop.state.records.cancellation import Progress
    from hermes_desktop.ui.undo.undo_dialog import UndoDialog
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.theme import Theme

_PREVIEW_KEY, _PROGRESS_KEY = "undo-preview", "undo-progress"
_SLOW_S = 0.4
"""After this time a notice says what is waited for."""


class Tell(Protocol):
    """Reports a command that can be reverted, by its notice and by Ctrl+Z."""

    def __call__(
        self, words: str, undo: Callable[[], Awaitable[str]], detail: str = "", *, action: str = ""
    ) -> None:
        """Show the notice; ``undo`` takes the command back and returns a sentence."""
        ...


class UndoCommands(QObject):
    """Controller of undoing turns, one at a time. Main thread only.

    Args:
        service: Undoes turns.
        slots: Runs the coroutines; a refusal becomes a notice.
        bus: Receives the notices.
        theme: Colors of the preview.
        window: Parent of the preview.
        tell: Reports an undo that can be reverted.

    Signals:
        changed: Files or messages of a session have changed; carries its id.
    """

    changed = Signal(str)

    def __init__(
        self,
        service: AsyncTurnUndo,
        slots: AsyncSlots,
        bus: EventBus,
        theme: Theme,
        window: QWidget,
        tell: Tell,
    ) -> None:
        super().__init__(window)
        self._service = service
        self._slots = slots
        self._bus = bus
        self._theme = theme
        self._window = window
        self._tell = tell
        self._busy = False
        self._cancel = threading.Event()

    def undo(self, session_id: str, turns: int = 1, message_id: int = 0) -> None:
        """Show what undoing turns of a session would do, and do it if the user confirms.

        Args:
            session_id: The session.
            turns: How many turns.
            message_id: A message of the first of these turns, instead of their number; 0: none.
        """
        if not self._busy:
            work = self._undo(session_id, turns, message_id)
            self._slots.start(self._alone(work), doing=self.tr("Undoing a turn"))

    def restore(self, session_id: str) -> None:
        """Take back the latest undo of a session."""
        if not self._busy:
            self._slots.start(
                self._alone(self._restore_and_tell(session_id)), doing=self.tr("Restoring a turn")
            )

    def put_back(self, files: UnseenFiles) -> None:
        """Show the differences of files that run later, and put them back if the user confirms."""
        if not self._busy:
            work = self._put_back(files)
            self._slots.start(self._alone(work), doing=self.tr("Reverting files"))

    def keep(self, files: UnseenFiles) -> None:
        """Keep files that run later; they are not shown again."""
        self._slots.start(self._keep(files), doing=self.tr("Keeping files"))

    def act_on(self, key: str) -> None:
        """Handle the action of a notice: stop the work. Other notices are ignored."""
        if key == _PROGRESS_KEY:
            self._cancel.set()

    def stop(self) -> None:
        """Stop the work: the window is closing."""
        self._cancel.set()

    # ------------------------------------------------------------------------------- work

    async def _alone(self, work: Awaitable[None]) -> None:
        self._busy = True
        self._cancel.clear()
        try:
            await work
        finally:
            self._busy = False
            self._bus.publish(NoticeCleared(_PROGRESS_KEY))

    async def _undo(self, session_id: str, turns: int, message_id: int) -> None:
        preview = await self._preview(session_id, turns, message_id)
        chosen = await self._ask(preview)
        if chosen is not None:
            await self._carry_out(preview, chosen)

    async def _put_back(self, files: UnseenFiles) -> None:
        preview = TurnUndoPreview(files.plan)
        chosen = await self._ask(preview)
        if chosen is None:
            return
        if await self._carry_out(preview, chosen):
            await self._keep(files)

    async def _keep(self, files: UnseenFiles) -> None:
        await self._service.keep(files)
        self.changed.emit(files.plan.session_id)

    async def _preview(self, session_id: str, turns: int, message_id: int) -> TurnUndoPreview:
        """Find what would be done; a notice says so if that takes long."""
        words = self.tr("Looking at what the turn changed…")
        loop = asyncio.get_running_loop()
        notice = Notice("info", words, key=_PREVIEW_KEY)
        slow = loop.call_later(_SLOW_S, self._bus.publish, notice)
        try:
            return await self._service.preview(session_id, turns, message_id=message_id)
        finally:
            slow.cancel()
            self._bus.publish(NoticeCleared(_PREVIEW_KEY))

    async def _ask(self, preview: TurnUndoPreview) -> frozenset[Step] | None:
        """Show the preview; return the files to put back, None if the user does not want to."""
        from hermes_desktop.ui.undo.undo_dialog import UndoDialog  # noqa: PLC0415 - seldom

        dialog = UndoDialog(preview, self._theme, self._window)

        def show(step: Step) -> None:
            self._slots.start(
                self._show_difference(dialog, step), doing=self.tr("Comparing a file")
            )

        dialog.difference_wanted.connect(show)
        dialog.show_first()
        try:
            accepted = await self._slots.ask(dialog) == QDialog.DialogCode.Accepted
            return dialog.chosen if accepted else None
        finally:
            dialog.deleteLater()

    async def _show_difference(self, dialog: UndoDialog, step: Step) -> None:
        difference = await self._service.difference(step)
        if isValid(dialog):
            dialog.show_difference(step, difference)

    async def _carry_out(self, preview: TurnUndoPreview, chosen: frozenset[Step]) -> bool:
        """Do it and report it; return whether everything chosen was done."""
        plan = preview.plan
        done = await self._service.undo(
            plan, UndoChoice(chosen=chosen), on_progress=self._show_progress, cancel=self._cancel
        )
        session_id, undo_id = plan.session_id, done.undo_id

        async def take_back() -> str:
            return await self._restore(session_id, undo_id)

        words, detail = undone_words(plan, done)
        if undo_id:
            self._tell(words, take_back, detail, action=self.tr("Restore"))
        else:
            self._bus.publish(Notice("info", words, detail, key="undo"))
        self.changed.emit(session_id)
        return not done.files.failed and not done.files.stopped

    async def _restore_and_tell(self, session_id: str) -> None:
        words = await self._restore(session_id)
        self._bus.publish(Notice("ok", words, key="undo"))

    async def _restore(self, session_id: str, undo_id: str = "") -> str:
        self._cancel.clear()
        done = await self._service.redo(
            session_id, undo_id, on_progress=self._show_progress, cancel=self._cancel
        )
        self._bus.publish(NoticeCleared(_PROGRESS_KEY))
        self.changed.emit(session_id)
        words, detail = restored_words(done)
        return f"{words} {detail}".strip()

    def _show_progress(self, progress: Progress) -> None:
        if progress.total < _MANY or progress.done >= progress.total:
            return
        if progress.done % (progress.total // 100 + 1):
            return
        words = self.tr("Updating files: {done} of {total}").format(
            done=f"{progress.done:,}", total=f"{progress.total:,}"
        )
        self._bus.publish(Notice("info", words, key=_PROGRESS_KEY, action=self.tr("Stop")))


_MANY = 50
"""Fewer files are put back before anybody could read about it."""
