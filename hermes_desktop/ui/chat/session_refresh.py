"""Reads the shown session again when somebody wrote into it, never twice at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, Signal

from hermes_desktop.core.errors import HermesError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.services.transcript import TranscriptReader
    from hermes_desktop.state.records import Message
    from hermes_desktop.ui.chat.shown_session import ShownSession
    from hermes_desktop.ui.transcript.transcript_view import TranscriptView


class SessionRefresh(QObject):
    """Keeps the transcript true.

    Args:
        reader: Reads messages.
        view: Shows them.
        current: Says which session the page shows; results for another one are dropped.

    Signals:
        taken: The session was read again and is shown.
        gone: The session that is shown is no longer there.
    """

    taken = Signal()
    gone = Signal()

    def __init__(
        self, reader: TranscriptReader, view: TranscriptView, current: Callable[[], ShownSession]
    ) -> None:
        super().__init__(view)
        self._reader = reader
        self._view = view
        self._current = current

    async def refresh(self, shown: ShownSession) -> None:
        """Read again; calls that come meanwhile are answered by one more look.

        Raises:
            StateError: The database cannot be read.
        """
        if shown.id is None or not shown.loaded:
            return
        if shown.refreshing:
            shown.again = True
            return
        shown.refreshing = True
        try:
            await self._once(shown)
            while shown.again and shown is self._current():
                shown.again = False
                await self._once(shown)
        finally:
            shown.refreshing = False

    async def older(self, shown: ShownSession, first: Message) -> None:
        """Read what stands before the first loaded message.

        Raises:
            HermesError: It cannot be read; scrolling up asks again.
        """
        try:
            page = await self._reader.older(cast(str, shown.id), first)
        except HermesError:
            self._view.older_failed()
            raise
        if shown is self._current():
            self._view.prepend(page)

    async def _once(self, shown: ShownSession) -> None:
        first = self._view.refresh_from()
        stored_before = self._view.live.stored_ids()
        try:
            page = await self._reader.refresh(cast(str, shown.id), first)
        except NotFoundError:
            # A chat that has just begun is stored with its first turn; it cannot be gone yet.
            if shown is self._current() and shown.summary is not None:
                self.gone.emit()
            return
        if shown is self._current():
            shown.take(page.session)
            self._view.apply_refresh(page, stored_before=stored_before)
            self.taken.emit()
