"""Refresh of the shown session after it was written to, one read at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, Signal

from hermes_desktop.core.errors import HermesError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.services.sessions.transcript import TranscriptReader
    from hermes_desktop.state.records.records import Message
    from hermes_desktop.ui.chat.shown_session import ShownSession
    from hermes_desktop.ui.transcript.transcript_view import TranscriptView
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots


class SessionRefresh(QObject):
    """Controller that keeps the transcript current.

    Args:
        reader: Reads messages.
        view: Shows them; requests older and newer ones.
        slots: Runs the reads.
        current: Returns the session that the page shows; results for another one are dropped.

    Signals:
        taken: The session was read again and is shown.
        gone: The shown session no longer exists.
    """

    taken = Signal()
    gone = Signal()

    def __init__(
        self,
        reader: TranscriptReader,
        view: TranscriptView,
        slots: AsyncSlots,
        current: Callable[[], ShownSession],
    ) -> None:
        super().__init__(view)
        self._reader = reader
        self._view = view
        self._slots = slots
        self._current = current
        view.older_wanted.connect(self._start_older)
        view.newer_wanted.connect(self._start_newer)

    def soon(self) -> None:
        """Start to read the shown session again."""
        self._slots.start(self.refresh(self._current()), doing=self.tr("Reading the session"))

    def _start_older(self, first: Message) -> None:
        reading = self._older(self._current(), first)
        self._slots.start(reading, doing=self.tr("Reading older messages"))

    def _start_newer(self, last: Message) -> None:
        reading = self._newer(self._current(), last)
        self._slots.start(reading, doing=self.tr("Reading newer messages"))

    async def refresh(self, shown: ShownSession) -> None:
        """Read again; calls during a read are coalesced into one more read.

        Raises:
            StateError: The database cannot be read.
        """
        if shown.id is None or not shown.loaded:
            return
        await shown.refreshes.run(lambda: self._once(shown))

    async def _older(self, shown: ShownSession, first: Message) -> None:
        window = self._view.window_of_entries
        try:
            page = await self._reader.older(cast(str, shown.id), first)
        except HermesError:
            self._view.older_failed()  # scrolling up requests them again
            raise
        if window is self._view.window_of_entries:
            self._view.prepend(page)

    async def _newer(self, shown: ShownSession, last: Message) -> None:
        window = self._view.window_of_entries
        try:
            page = await self._reader.newer(cast(str, shown.id), last)
        except HermesError:
            self._view.newer_failed()  # scrolling down requests them again
            raise
        if window is self._view.window_of_entries:
            self._view.append(page)

    async def open(self, shown: ShownSession, *, at: int | None = None) -> bool:
        """Read and show the end of a conversation, or the part around one message.

        Args:
            shown: The conversation.
            at: Row id of the message to scroll to; None for the end.

        Returns:
            Whether it is shown: False if another one has been chosen.

        Raises:
            NotFoundError: The session is gone.
            StateError: It cannot be read.
        """
        session_id = cast(str, shown.id)
        if at is None:
            page = await self._reader.open(session_id)
        else:
            page = await self._reader.around(session_id, at)
        if shown is not self._current():
            return False
        shown.take(page.session)
        shown.loaded = True
        self._view.set_page(page, at=at)
        return True

    async def _once(self, shown: ShownSession) -> None:
        if shown is not self._current():
            return
        first = self._view.refresh_from()
        window = self._view.window_of_entries
        last = window.refresh_until()
        stored_before = self._view.live.stored_ids()
        try:
            page = await self._reader.refresh(cast(str, shown.id), first, last)
        except NotFoundError:
            # A new chat is stored with its first turn; it cannot be gone yet.
            if shown is self._current() and shown.summary is not None:
                self.gone.emit()
            return
        if shown is self._current() and window is self._view.window_of_entries:
            shown.take(page.session)
            self._view.apply_refresh(page, stored_before=stored_before)
            self.taken.emit()
