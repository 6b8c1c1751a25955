"""Window state kept between starts: drafts, the session shown last, the folder of new ones."""

import asyncio
import logging
from collections.abc import Mapping

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.state.shared_tables import desktop_database
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

log = logging.getLogger(__name__)

_DRAFT = "draft:"
_SESSION = "session"
_FOLDER = "folder"
_PAUSE_S = 0.5


class WindowState:
    """Reads once and writes half a second after a change, on a worker thread. Used on the loop.

    A store that cannot be written is only logged: it must not keep the user from writing a message.

    Args:
        store: Our own store; created with the first value.
        worker: The worker thread for reading and writing.
        clock: The clock that dates changed values.
    """

    def __init__(self, store: DesktopDatabase, worker: WorkerThreads, clock: Clock) -> None:
        self._store = store
        self._worker = worker
        self._tasks = TaskSet()
        self._clock = clock
        self._waiting: dict[str, str] = {}
        self._stored: dict[str, str] = {}
        self._writing: asyncio.Task[None] | None = None

    async def load(self) -> tuple[Mapping[str, str], str]:
        """Read the stored state.

        Returns:
            Drafts by the root of their conversation ("" for a new chat), and the id of the session
            that was shown last ("" for none).
        """
        found: dict[str, str] = {}
        try:
            found = await self._worker.run(self._read)
        except HermesError as error:
            log.warning("Drafts cannot be read: %s", error)
        self._stored = {**found, **self._stored}
        drafts = {
            name.removeprefix(_DRAFT): text
            for name, text in found.items()
            if name.startswith(_DRAFT)
        }
        return drafts, found.get(_SESSION, "")

    def keep_draft(self, key: str, text: str) -> None:
        """Store the draft of a conversation; "" deletes it."""
        self._put(_DRAFT + key, text)

    def keep_session(self, session_id: str) -> None:
        """Store which session is shown; "" for none."""
        self._put(_SESSION, session_id)

    @property
    def folder(self) -> str:
        """The folder picked for new sessions, once the state was loaded; "" for none."""
        return self._waiting.get(_FOLDER, self._stored.get(_FOLDER, ""))

    def keep_folder(self, folder: str) -> None:
        """Store the folder for new sessions."""
        self._put(_FOLDER, folder)

    async def flush(self) -> None:
        """Write what changed since the last time."""
        values, self._waiting = self._waiting, {}
        if not values:
            return
        now = self._clock.time()
        self._stored.update(values)
        try:
            await self._worker.run(
                lambda: self._store.write(
                    lambda conn: desktop_database.put_window_state(conn, values, now)
                )
            )
        except HermesError as error:
            log.warning("Drafts cannot be written: %s", error)
            for name in values:
                self._stored.pop(name, None)

    def _read(self) -> dict[str, str]:
        nothing: dict[str, str] = {}
        return self._store.read(desktop_database.read_window_state, default=nothing)

    async def close(self) -> None:
        """Write pending changes, and close the store."""
        await self._tasks.cancel_all()
        await self.flush()
        await self._worker.run(self._store.close)

    def _put(self, name: str, value: str) -> None:
        stored = self._stored.get(name, "")
        if value == self._waiting.get(name, stored):
            return
        self._waiting[name] = value
        if self._writing is None or self._writing.done():
            self._writing = self._tasks.start(self._write_later(), name="window-state")

    async def _write_later(self) -> None:
        while self._waiting:
            await asyncio.sleep(_PAUSE_S)
            await self.flush()
