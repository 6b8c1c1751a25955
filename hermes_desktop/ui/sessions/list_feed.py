"""The feed of a list: requests pages when the filter or the data change, at a limited rate."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from PySide6.QtCore import QDateTime, QObject, QTimer, Signal

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.sessions.live_catalog import ListQuery, SessionPage
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.coalesced_runs import CoalescedRuns

REFRESH_EVERY_MS = 250
"""Minimum interval between reads after changes of the data, at most four per second."""
FILTER_PAUSE_MS = 80
"""How long typing must pause before the filter is applied."""
SLOW_AFTER_MS = 150
PAGE_ROWS = 200


class Catalog(Protocol):
    """The part of the services that the list needs."""

    async def page(self, query: ListQuery) -> SessionPage:
        """Read one page; raises StateError."""
        ...

    async def newest(self) -> SessionPage | None:
        """Read the first rows quickly, None if a page is just as fast; raises StateError."""
        ...

    async def rename(self, session_id: str, title: str) -> str | None:
        """Give a session another title; raises NotFoundError or TitleError."""
        ...


class ListFeed(QObject):
    """Controller that delivers pages for its query; results of older queries are dropped.

    Signals:
        page_ready: A :class:`SessionPage` for the current query.
        became_slow: A result has been pending for 150 ms.
        answered: A result or an error has arrived.
        failed: The error; the old rows stay.
    """

    page_ready = Signal(object)
    became_slow = Signal()
    answered = Signal()
    failed = Signal(object)

    def __init__(
        self,
        catalog: Catalog,
        slots: AsyncSlots,
        clock: Clock,
        query: ListQuery,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._catalog = catalog
        self._slots = slots
        self._clock = clock
        self._query = query
        self._begun = False
        self._reads = CoalescedRuns()
        self._held = False
        self._closed = False
        self._last_ms = -REFRESH_EVERY_MS
        self._wait = self._timer(self._read)
        self._slow_timer = self._timer(self.became_slow.emit)
        self._midnight = self._timer(self.refresh)

    @property
    def query(self) -> ListQuery:
        """The current query."""
        return self._query

    def ask(self, query: ListQuery, *, after_ms: int = 0) -> None:
        """Set another query; the result of the previous one is no longer delivered."""
        self._query = query
        self._wait.start(after_ms)

    def more(self) -> None:
        """Request more rows of the same query."""
        self._query = replace(self._query, limit=self._query.limit + PAGE_ROWS)
        self._wait.start(0)

    def refresh(self) -> None:
        """Read again soon after the data changed, at most four times a second."""
        if self._wait.isActive() or self._closed:
            return
        since = int(self._clock.monotonic() * 1000) - self._last_ms
        self._wait.start(max(0, REFRESH_EVERY_MS - since))

    def hold(self) -> None:
        """Suspend delivery until :meth:`release`, because a menu is open over a row."""
        self._held = True

    def release(self) -> None:
        """Resume delivery, starting with a refresh."""
        if self._held:
            self._held = False
            self.refresh()

    def close(self) -> None:
        """Stop reading; it is not started again."""
        for timer in (self._wait, self._slow_timer, self._midnight):
            timer.stop()
        self._closed = True

    def _timer(self, slot: Callable[[], object]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(slot)
        return timer

    def _read(self) -> None:
        self._slots.start(self._reads.run(self._deliver), doing="Reading the session list")

    def _delivers(self) -> bool:
        return not self._held and not self._closed

    async def _deliver(self) -> None:
        if not self._delivers():
            return
        self._wait.stop()  # what was to be read after a pause is read now
        self._last_ms = int(self._clock.monotonic() * 1000)
        self._slow_timer.start(SLOW_AFTER_MS)
        query = self._query
        try:
            await self._give_a_glance(query)
            page = await self._catalog.page(query)
        except HermesError as error:
            self.failed.emit(error)
            raise
        else:
            if self._delivers() and query == self._query:
                self.page_ready.emit(page)
                self._wait_for_midnight()
        finally:
            self._slow_timer.stop()
            self.answered.emit()
            if not self._closed and query != self._query:
                self._wait.start(0)

    async def _give_a_glance(self, query: ListQuery) -> None:
        """Show the newest rows before the first full page, which may take a while."""
        if self._begun or query.narrows or query.empty:
            return
        self._begun = True
        glance = await self._catalog.newest()
        if glance is not None and self._delivers() and query == self._query:
            self.page_ready.emit(glance)

    def _wait_for_midnight(self) -> None:
        now = QDateTime.currentDateTime()
        midnight = now.date().addDays(1).startOfDay()
        self._midnight.start(now.msecsTo(midnight) + 1000)
