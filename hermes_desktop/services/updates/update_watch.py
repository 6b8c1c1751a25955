"""The watch for other versions of this program: a newer release, and an upgrade while it runs.

The release feed is fetched only while the user allows it, at most once a day, however often the
program starts. What the disk says is looked at every few minutes. Nothing is ever installed.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import hermes_desktop
from hermes_desktop.agent.providers.json_document import DocumentError, fetch_document
from hermes_desktop.agent.providers.shared_tls import SharedTls
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import NewRelease, SettingsChanged, VersionsChanged
from hermes_desktop.services.updates.installation import installation_of, traces_here
from hermes_desktop.services.updates.release_feed import (
    FeedError,
    Release,
    feed_address,
    read_release,
)
from hermes_desktop.services.updates.versions import installed_instead, is_newer
from hermes_desktop.state.shared_tables import desktop_database
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

log = logging.getLogger(__name__)

SETTING = "desktop.check_updates"
FIRST_S = 30.0
"""Seconds after the start until the first look, which must not delay the start."""
LOOK_S = 900.0
"""Seconds between two looks. Nearly all of them find nothing."""
APART_S = 86_400.0
"""The least number of seconds between two requests for the feed."""
_ASKED, _FOUND, _DISMISSED, _RAN = (
    "update_asked_at",
    "update_found",
    "update_dismissed",
    "update_last_run",
)


@dataclass(frozen=True, slots=True)
class ThisProgram:
    """The running program.

    Attributes:
        version: Its version.
        folder: The folder that contains its package.
    """

    version: str = hermes_desktop.__version__
    folder: Path = Path(hermes_desktop.__file__).parent.parent


class UpdateWatch:
    """Publishes :class:`VersionsChanged` when something changed. Used on the loop.

    Args:
        store: Our own store, used here alone; remembers what was asked, found and dismissed.
        bus: The event bus.
        clock: The wall clock counts the day between two requests, because it goes on while the
            program does not run.
        environ: The process environment, which may name another feed.
        allowed: Returns whether the user allows requests. Blocking.
        program: The running program.
    """

    def __init__(
        self,
        store: DesktopDatabase,
        bus: EventBus,
        clock: Clock,
        environ: Mapping[str, str],
        *,
        allowed: Callable[[], bool],
        program: ThisProgram | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._environ = environ
        self._allowed = allowed
        self._program = program or ThisProgram()
        self._tls = SharedTls(environ=environ)
        self._work = WorkerThreads("updates")
        # A request that hangs delays neither the store nor the end of the program.
        self._web = WorkerThreads("update-feed")
        self._wake = asyncio.Event()
        self.news = VersionsChanged(self._program.version)

    async def run(self) -> None:
        """Look repeatedly until cancelled."""
        unsubscribe = self._bus.subscribe(SettingsChanged, self._settings_changed)
        try:
            await self.note_start()
            await self._pause(FIRST_S)
            while True:
                await self.look()
                await self._pause(LOOK_S)
        finally:
            unsubscribe()

    async def note_start(self) -> None:
        """Tell which version ran before, if that was another one."""
        previous = await self._work.run(self._previous_version)
        self._show(replace(self.news, previous=previous))

    async def look(self) -> None:
        """Look at the disk, and fetch the feed if that is allowed and due."""
        installed = await self._work.run(
            installed_instead, self._program.folder, self._program.version
        )
        self._show(replace(self.news, installed=installed))
        await self._work.run(self._note_version)
        url = await self._work.run(self._due_address)
        if url:
            await self._fetch(url)
        self._show(replace(self.news, release=await self._work.run(self._release)))

    async def dismiss(self, version: str) -> None:
        """Remember that the user dismissed the notice of a release; it is not shown again."""
        await self._work.run(self._put, _DISMISSED, version)
        if self.news.release is not None and self.news.release.version == version:
            self._show(replace(self.news, release=None))

    async def close(self) -> None:
        """Close the store; a request that is still running is abandoned."""
        self._web.close()
        await self._work.run(self._store.close)
        self._work.close()

    async def _fetch(self, url: str) -> None:
        try:
            document = await self._web.run(fetch_document, url, self._tls)
            found = read_release(document)
        except DocumentError as error:
            log.info("The release feed could not be read: %s", error.detail)
        except FeedError as error:
            log.info("The release feed is not valid: %s", error)
        else:
            await self._work.run(self._put, _FOUND, json.dumps(asdict(found)))

    def _settings_changed(self, news: SettingsChanged) -> None:
        if any(change.key == SETTING for change in news.changes):
            self._wake.set()

    async def _pause(self, seconds: float) -> None:
        """Wait, or until the setting was changed."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)
        self._wake.clear()

    def _show(self, news: VersionsChanged) -> None:
        if news != self.news:
            self.news = news
            self._bus.publish(news)

    # ------------------------------------------------------------------------ on worker threads

    def _previous_version(self) -> str:
        """Return the version that ran before this one; "" if it was the same, or is unknown."""
        before = self._fact(_RAN)
        if before in {"", self._program.version}:
            return ""
        self._note_version()
        return before

    def _note_version(self) -> None:
        """Remember the running version. Not at the start, which must not create the file."""
        if self._fact(_RAN) != self._program.version:
            self._put(_RAN, self._program.version)

    def _due_address(self) -> str:
        """Return the address of the feed if it may be fetched now, and count that as a request."""
        url = feed_address(self._environ)
        if not url or not self._allowed():
            return ""
        now = self._clock.time()
        try:
            asked = float(self._fact(_ASKED) or "-inf")
        except ValueError:
            asked = float("-inf")
        # A time in the future was written while the clock was wrong.
        if 0 <= now - asked < APART_S:
            return ""
        # A failed request counts, too: a server in trouble must not be asked again and again.
        return url if self._put(_ASKED, repr(now)) else ""

    def _release(self) -> NewRelease | None:
        """Return the remembered release if it is newer, not dismissed and may be shown."""
        if not feed_address(self._environ) or not self._allowed():
            return None
        try:
            found: Release = read_release(json.loads(self._fact(_FOUND) or "null"))
        except ValueError:
            return None
        if not is_newer(found.version, self._program.version):
            return None
        if found.version == self._fact(_DISMISSED):
            return None
        here = installation_of(traces_here(self._environ))
        return NewRelease(
            found.version, found.date, found.notes, found.page, here.update, here.command
        )

    def _fact(self, name: str) -> str:
        try:
            found = self._store.read(lambda own: desktop_database.fact(own, name), default=None)
        except HermesError as error:
            log.warning("What is known about updates cannot be read: %s", error)
            return ""
        return found or ""

    def _put(self, name: str, value: str) -> bool:
        try:
            self._store.write(lambda own: desktop_database.put_fact(own, name, value))
        except HermesError as error:
            log.warning("What is known about updates cannot be stored: %s", error)
            return False
        return True
