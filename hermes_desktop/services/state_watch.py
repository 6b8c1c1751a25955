"""Asks the database again and again whether anybody has written, and tells the bus what changed."""

import asyncio
import contextlib
import logging

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.errors import StateError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice, NoticeCleared, SessionsChanged, StateFileChanged
from hermes_desktop.services.live_catalog import LiveCatalog
from hermes_desktop.services.transcript import TranscriptReader
from hermes_desktop.state.change_watcher import ChangeWatcher
from hermes_desktop.state.records import StateChanges

log = logging.getLogger(__name__)

VISIBLE_INTERVAL_S = 0.25
HIDDEN_INTERVAL_S = 2.0
_NOTICE_KEY = "state-watch"


class StateWatch:
    """The only source of news about data, whether we or another process wrote.

    Args:
        watcher: Looks at the file; used on ``state-read`` only.
        catalog: Learns of changes before anybody else is told.
        transcript: Says which session is open.
        readers: The ``state-read`` worker.
        bus: Gets :class:`SessionsChanged`.
    """

    def __init__(
        self,
        watcher: ChangeWatcher,
        catalog: LiveCatalog,
        transcript: TranscriptReader,
        readers: WorkerThreads,
        bus: EventBus,
    ) -> None:
        self._watcher = watcher
        self._catalog = catalog
        self._transcript = transcript
        self._readers = readers
        self._bus = bus
        self._interval_s = HIDDEN_INTERVAL_S
        self._wake: asyncio.Event | None = None
        self._failing = False

    def set_visible(self, visible: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        """Look four times a second while a window shows, else every two seconds."""
        self._interval_s = VISIBLE_INTERVAL_S if visible else HIDDEN_INTERVAL_S
        self.look_now()

    def look_now(self) -> None:
        """Look at once; called after a write of our own."""
        if self._wake is not None:
            self._wake.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        self._wake = asyncio.Event()
        try:
            while True:
                await self.look()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), self._interval_s)
                self._wake.clear()
        finally:
            self._wake = None

    async def look(self) -> None:
        """Look once and publish what is found."""
        try:
            changes = await self._readers.run(self._look)
        except StateError as error:
            self._tell_failure(error)
            return
        if self._failing:
            self._failing = False
            self._bus.publish(NoticeCleared(_NOTICE_KEY))
        if changes.file_replaced:
            self._bus.publish(StateFileChanged("state.db was replaced by another file."))
        if changes:
            self._bus.publish(
                SessionsChanged(
                    changes.touched, changes.removed, changes.reload_all or changes.file_replaced
                )
            )

    def _look(self) -> StateChanges:
        self._watcher.watch(self._catalog.listed_ids | self._transcript.opened_ids)
        changes = self._watcher.look()
        if changes:
            self._catalog.note_changes(changes)
        return changes

    def _tell_failure(self, error: StateError) -> None:
        if not self._failing:
            log.warning("The database cannot be watched: %s", error)
            self._bus.publish(
                Notice("error", error.title, error.detail, error.hint, key=_NOTICE_KEY)
            )
        self._failing = True
