"""Submission of typed messages; each stays with its session until it is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from hermes_desktop.services.sessions.undo_plan import typed_undo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from PySide6.QtWidgets import QWidget

    from hermes_desktop.services.assembly.window_state import WindowState
    from hermes_desktop.services.hosting.desktop_chat import DesktopChat
    from hermes_desktop.ui.chat.composer import Composer
    from hermes_desktop.ui.chat.shown_session import ShownSession
    from hermes_desktop.ui.chat.turn_ledger import TurnLedger
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots


class Sending(QObject):
    """Controller between the message field and the chat service, including drafts.

    Args:
        chat: Accepts messages and stops replies.
        composer: The message field.
        ledger: Drops a failed turn that is retried.
        slots: Runs the submission.
        current: Returns the session that the page shows.
        page: The owner.
        state: Stores drafts across starts of the program.
        folder: Returns the working folder of a new chat.

    Signals:
        begun: The first message of a new chat, still shown, was accepted; holds its id.
        taken: A message for the shown session was accepted.
        drafts_changed: The drafts of the sessions that are not shown, by the root of each.
        undo_wanted: ``/undo`` was typed; holds the session and the number of turns.
    """

    undo_wanted = Signal(str, int)
    begun = Signal(str)
    taken = Signal()
    drafts_changed = Signal(object)

    def __init__(  # noqa: PLR0913 - the parts that it connects
        self,
        chat: DesktopChat,
        composer: Composer,
        ledger: TurnLedger,
        slots: AsyncSlots,
        *,
        current: Callable[[], ShownSession],
        page: QWidget,
        state: WindowState,
        folder: Callable[[], Awaitable[str]],
    ) -> None:
        super().__init__(page)
        self._chat = chat
        self._composer = composer
        self._ledger = ledger
        self._slots = slots
        self._current = current
        self._state = state
        self._folder = folder
        self._drafts: dict[str, str] = {}
        composer.field.textChanged.connect(self._keep_draft)
        composer.submitted.connect(self.send)
        composer.stop_wanted.connect(self.stop)

    def switch(self, before: ShownSession, after: ShownSession) -> None:
        """Store the draft of one session and restore that of another."""
        if not before.nothing or self._composer.text:
            self._drafts[before.draft_key] = self._composer.text
        self._composer.set_text(self._drafts.pop(after.draft_key, ""))
        self._tell_drafts()

    def take_drafts(self, drafts: Mapping[str, str]) -> None:
        """Restore drafts that were not sent before the program was started."""
        for key, text in drafts.items():
            self._drafts.setdefault(key, text)
        current = self._current()
        if not self._composer.text and not current.nothing:
            self._composer.set_text(self._drafts.pop(current.draft_key, ""))
        self._tell_drafts()

    def _tell_drafts(self) -> None:
        drafts = {key: text for key, text in self._drafts.items() if key and text.strip()}
        self.drafts_changed.emit(drafts)

    def _keep_draft(self) -> None:
        self._state.keep_draft(self._current().draft_key, self._composer.text)

    def send(self, text: str, *, again: bool = False) -> None:
        """Submit a message to the shown session.

        Args:
            text: Not blank.
            again: Whether its turn has just failed.
        """
        shown = self._current()
        turns = typed_undo(text)
        if turns and shown.id is not None:
            self._composer.take_out(text)
            self.undo_wanted.emit(shown.id, turns)
            return
        shown.nothing = False  # from here on, the page is that of a new chat
        self._composer.set_locked(True)
        submitting = self._submit(text, shown, again=again)
        self._slots.start(submitting, doing=self.tr("Sending the message"))

    def stop(self) -> None:
        """Stop the reply in the shown session."""
        session_id = self._current().id
        if session_id is not None:
            self._slots.start(self._chat.stop(session_id), doing=self.tr("Stopping the reply"))

    def retry(self, turn_id: str, prompt: str) -> None:
        """Send the prompt of a failed turn again."""
        self._ledger.retry(turn_id)
        if self._composer.text.strip() == prompt.strip():
            self._composer.clear()
        self.send(prompt, again=True)

    def give_back(self, session_id: str, prompt: str, *, here: bool) -> None:
        """Put a prompt that was not stored back into the field or the draft of its session."""
        if here:
            self._composer.give_back(prompt)
        else:
            self._drafts.setdefault(session_id, prompt)
            self._state.keep_draft(session_id, self._drafts[session_id])
            self._tell_drafts()

    async def _submit(self, text: str, shown: ShownSession, *, again: bool = False) -> None:
        """Submit a message; it leaves the field only once it is accepted."""
        try:
            folder = await self._folder() if shown.id is None else ""
            submitted = await self._chat.send(text, session_id=shown.id, again=again, folder=folder)
        finally:
            self._composer.set_locked(False)
        begun = shown.id is None
        if begun:
            shown.begin(submitted.session_id)
            self._state.keep_draft("", "")
        if shown is not self._current():
            key = "" if begun else shown.draft_key
            self._drafts[key] = self._drafts.get(key, "").removeprefix(text)
            self._state.keep_draft(key, self._drafts[key])
            self._tell_drafts()
            return
        self._composer.take_out(text)
        if begun:
            self.begun.emit(submitted.session_id)
        self.taken.emit()
