"""Polling for changes by any program: the database, and the pairing files.

What is found is published on the event bus.
"""

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import StateError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import (
    Notice,
    NoticeCleared,
    PairingChanged,
    SessionsChanged,
    StateFileChanged,
)
from hermes_desktop.services.sessions.live_catalog import AsyncSessionList
from hermes_desktop.services.sessions.transcript import TranscriptReader
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher
from hermes_desktop.state.records.records import StateChanges

log = logging.getLogger(__name__)

_PAIRING = (Path("platforms") / "pairing", Path("pairing"))
_PAIRING_SUFFIX = ".json"


class PairingWatch:
    """Compares the pairing files with those of the last check. Blocking, one thread.

    A check takes about 20 µs; a window makes several a second.

    Args:
        home: The Hermes home.
    """

    def __init__(self, home: Path) -> None:
        self._folders = tuple(home / folder for folder in _PAIRING)
        self._seen = self._files()

    def look(self) -> bool:
        """Return whether a file changed since the last check."""
        before, self._seen = self._seen, self._files()
        return before != self._seen

    def _files(self) -> frozenset[tuple[str, int, int, int]]:
        return frozenset(each for folder in self._folders for each in _files_of(folder))


def _files_of(folder: Path) -> list[tuple[str, int, int, int]]:
    try:
        with os.scandir(folder) as entries:
            found = [
                (each.path, each.stat()) for each in entries if each.name.endswith(_PAIRING_SUFFIX)
            ]
    except OSError:  # there is none, or a file was deleted just now
        return []
    return [(path, stat.st_ino, stat.st_mtime_ns, stat.st_size) for path, stat in found]


VISIBLE_INTERVAL_S = 0.25
HIDDEN_INTERVAL_S = 2.0
_NOTICE_KEY = "state-watch"


@dataclass(frozen=True, slots=True)
class Beside:
    """An additional check that runs with each poll.

    Attributes:
        look: Returns whether something changed since the last check; called on a thread, takes
            microseconds.
        changed: Called on the loop after a change.
    """

    look: Callable[[], bool]
    changed: Callable[[], None]


class StateWatch:
    """The only source of data change events, whether we or another process wrote.

    Args:
        watcher: Checks the file; used on ``state-read`` only.
        catalog: Is notified of changes before they are published.
        transcript: Provides the session that is open.
        readers: The ``state-read`` worker.
        bus: The event bus for :class:`SessionsChanged`.
        pairing: An additional check that leads to :class:`PairingChanged`. None: no such check.
        beside: Other additional checks, made at the same intervals.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the parts it joins
        self,
        watcher: ChangeWatcher,
        catalog: AsyncSessionList,
        transcript: TranscriptReader,
        readers: WorkerThreads,
        bus: EventBus,
        pairing: PairingWatch | None = None,
        beside: Collection[Beside] = (),
    ) -> None:
        self._pairing = pairing
        self._beside = beside
        self._watcher = watcher
        self._catalog = catalog
        self._transcript = transcript
        self._readers = readers
        self._bus = bus
        self._interval_s = HIDDEN_INTERVAL_S
        self._due = threading.Event()
        self._ended = False
        self._failing = False

    def set_visible(self, visible: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        """Check four times a second while a window is visible, else every two seconds."""
        self._interval_s = VISIBLE_INTERVAL_S if visible else HIDDEN_INTERVAL_S
        self.check_now()

    def check_now(self) -> None:
        """Check immediately; called after a write of our own."""
        self._due.set()

    async def run(self) -> None:
        """Watch until cancelled; cannot be restarted.

        Nearly every check finds nothing. The event loop is only notified when there is something to
        report: a timer and a task four times a second would be most of the cost of an idle window.
        """
        loop = asyncio.get_running_loop()
        # The first check only sets the baseline: it is queued here, before anything that is read
        # later. The provisional first page goes before it, because with many sessions it takes a
        # while.
        self._catalog.read_early()
        first = self._readers.submit(self._look)
        pulse = threading.Thread(
            target=self._keep_looking, args=(loop, first), name="state-watch", daemon=True
        )
        pulse.start()
        try:
            await loop.create_future()
        finally:
            self._ended = True
            self._due.set()

    async def look(self) -> None:
        """Check once and publish what is found."""
        try:
            changes = await self._readers.run(self._look)
        except StateError as error:
            self._tell_failure(error)
        else:
            self._tell(changes)

    def close(self) -> None:
        """Close the file. Blocking; runs on ``state-read``, after :meth:`run` has ended."""
        self._watcher.close()

    def _keep_looking(self, loop: asyncio.AbstractEventLoop, look: Future[StateChanges]) -> None:
        """Poll at intervals, on ``state-watch``; the polls themselves run on ``state-read``."""
        with contextlib.suppress(RuntimeError):  # readers or loop are already closed
            while not self._ended:
                if look.exception() or look.result() or self._failing:
                    loop.call_soon_threadsafe(self._hear, look)
                if self._pairing is not None and self._pairing.look():
                    loop.call_soon_threadsafe(self._bus.publish, PairingChanged())
                for each in self._beside:
                    if each.look():
                        loop.call_soon_threadsafe(each.changed)
                self._due.wait(self._interval_s)
                self._due.clear()
                look = self._readers.submit(self._look)

    def _hear(self, look: Future[StateChanges]) -> None:
        error = look.exception()
        if error is None:
            self._tell(look.result())
        elif isinstance(error, StateError):
            self._tell_failure(error)
        else:
            log.error("Looking at the database failed", exc_info=error)

    def _tell(self, changes: StateChanges) -> None:
        if self._failing:
            self._failing = False
            self._bus.publish(NoticeCleared(_NOTICE_KEY))
        if changes.file_replaced:
            self._bus.publish(StateFileChanged("Another file replaced state.db."))
        if changes:
            self._bus.publish(
                SessionsChanged(
                    changes.touched, changes.removed, changes.reload_all or changes.file_replaced
                )
            )

    def _look(self) -> StateChanges:
        if self._ended:
            return StateChanges()  # the watcher may be closed by now
        self._watcher.watch(self._catalog.listed_ids | self._transcript.opened_ids)
        changes = self._watcher.look()
        repinned = self._catalog.repinned() - changes.removed
        if repinned:
            changes = replace(changes, touched=changes.touched | repinned)
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
