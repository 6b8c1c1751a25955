"""The controller that shows what the turns of the session on the page changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.sessions.session_changes import SessionChanges
from hermes_desktop.ui.widgets.coalesced_runs import CoalescedRuns

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.core.events import SessionsChanged, TurnFinished
    from hermes_desktop.services.sessions.live_undo import AsyncTurnUndo
    from hermes_desktop.ui.undo.runs_later_card import RunsLaterCard
    from hermes_desktop.ui.undo.undo_commands import UndoCommands
    from hermes_desktop.ui.undo.undo_row import UndoRow
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.event_bridge import EventBridge


class UndoWatch(QObject):
    """Controller of the card of files that run later, and of the row that undoes the last turn.

    Args:
        card: The card.
        row: The row.
        service: Finds what was changed.
        commands: Keep files, put them back, and undo turns.
        slots: Runs the coroutines.
        bridge: The ends of turns, and changes by other programs.
        shown: Returns the id of the session on the page, None for a new one.
        answering: Returns whether a turn of a session runs or waits in this program.
    """

    def __init__(  # noqa: PLR0913 - what it stands between
        self,
        card: RunsLaterCard,
        row: UndoRow,
        service: AsyncTurnUndo,
        commands: UndoCommands,
        *,
        slots: AsyncSlots,
        bridge: EventBridge,
        shown: Callable[[], str | None],
        answering: Callable[[str], bool],
    ) -> None:
        super().__init__(card)
        self._card = card
        self._row = row
        self._service = service
        self._commands = commands
        self._slots = slots
        self._shown = shown
        self._answering = answering
        self._looks = CoalescedRuns()
        card.keep_wanted.connect(commands.keep)
        card.put_back_wanted.connect(commands.put_back)
        row.undo_wanted.connect(self._undo)
        commands.changed.connect(lambda _: self.look())
        bridge.turn_finished.connect(self._turn_finished)
        bridge.sessions_changed.connect(self._sessions_changed)

    def look(self) -> None:
        """Show what the turns of the session on the page changed."""
        if self._shown() is None:
            self._show(SessionChanges())
        else:
            looking = self._looks.run(self._look)
            self._slots.start(looking, doing=self.tr("Looking at changed files"))

    async def _look(self) -> None:
        session_id = self._shown()
        if session_id is None:
            return
        try:
            found = await self._service.changes(session_id)
        except HermesError:
            found = SessionChanges()  # the page itself says why it cannot be read
        if session_id == self._shown():
            self._show(found)

    def _show(self, changes: SessionChanges) -> None:
        self._card.show_files(changes.unseen)
        self._row.show_turn(changes.last_turn)

    def _undo(self, message_id: int) -> None:
        session_id = self._shown()
        if session_id is not None:
            self._commands.undo(session_id, message_id=message_id)

    def _turn_finished(self, event: TurnFinished) -> None:
        if event.session_id == self._shown() and event.stored:
            self.look()

    def _sessions_changed(self, event: SessionsChanged) -> None:
        """Look again after another program changed the session, unless a turn runs here."""
        session_id = self._shown()
        if session_id is None or self._answering(session_id):
            return
        if event.reload_all or session_id in event.session_ids:
            self.look()
