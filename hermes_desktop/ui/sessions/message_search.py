"""The search in messages, debounced while typing; each new text cancels the previous search."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from hermes_desktop.core.errors import HermesError
from hermes_desktop.state.search.search_records import SearchHit, SearchOutcome, SearchQuery
from hermes_desktop.ui.widgets.async_slots import AsyncSlots

PAUSE_MS = 250
"""How long typing must pause before the messages are searched."""
SHORTEST = 2
"""Texts with fewer characters are searched in titles only."""
FIRST_HITS = 50
MORE_HITS = 200
_PAGE = 50
_NOT_LISTED = ("tool",)


class Finder(Protocol):
    """The part of the services that the search needs."""

    async def find(
        self, query: SearchQuery, on_hits: Callable[[Sequence[SearchHit]], None]
    ) -> SearchOutcome:
        """Find messages; raises StateError."""
        ...

    def cancel(self) -> None:
        """Cancel the running search."""
        ...


class MessageSearch(QObject):
    """Controller of the search: holds the query and reports the hits.

    Args:
        finder: Searches the messages.
        slots: Runs the search; a failure becomes a notice.

    Signals:
        changed: The query changed or was cleared; earlier hits belong to the previous one.
        began: A search started; True if it only continues beyond the known hits.
        found: More hits of it, a tuple.
        ended: The search ended: its :class:`SearchOutcome`, None when it failed.
    """

    changed = Signal()
    began = Signal(bool)
    found = Signal(object)
    ended = Signal(object)

    def __init__(self, finder: Finder, slots: AsyncSlots, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._finder = finder
        self._slots = slots
        self._query: SearchQuery | None = None
        self._run = 0
        self._wait = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._wait.timeout.connect(self._begin)

    @property
    def query(self) -> SearchQuery | None:
        """The current query, None for none."""
        return self._query

    @property
    def best_first(self) -> bool:
        """Whether results are sorted by best match and not by the newest."""
        return self._query is not None and self._query.order == "best"

    def look_for(self, text: str, source: str | None, *, archived: bool, best_first: bool) -> None:
        """Search after a pause; a text of fewer than two characters ends the search.

        Args:
            text: The typed text.
            source: Only in conversations of this source, None for all.
            archived: Only in archived conversations; otherwise only in unarchived ones.
            best_first: Sort by best match, not by the newest.
        """
        query = None
        if len(text.strip()) >= SHORTEST:
            query = SearchQuery(
                text.strip(),
                order="best" if best_first else "newest",
                sources=None if source is None else (source,),
                exclude_sources=_NOT_LISTED,
                archived=archived,
                limit=FIRST_HITS,
                page_size=_PAGE,
                prefix=True,
                one_per_conversation=True,
            )
        if query == self._query:
            return
        self._take(query)
        if query is not None:
            self._wait.start()

    def now(self) -> None:
        """Start a pending search without waiting for the pause."""
        if self._wait.isActive():
            self._wait.stop()
            self._begin()

    def more(self) -> None:
        """Continue the search for more hits."""
        query = self._query
        if query is not None:
            self._query = replace(query, limit=query.limit + MORE_HITS)
            self._begin(continued=True)

    def stop(self) -> None:
        """Cancel the search and clear the query."""
        self._take(None)

    def _take(self, query: SearchQuery | None) -> None:
        self._query = query
        self._run += 1
        self._wait.stop()
        self._finder.cancel()
        self.changed.emit()

    def _begin(self, *, continued: bool = False) -> None:
        if self._query is not None:
            self._run += 1
            self.began.emit(continued)
            searching = self._search(self._query, self._run)
            self._slots.start(searching, doing=self.tr("Searching the messages"))

    async def _search(self, query: SearchQuery, run: int) -> None:
        def take(hits: Sequence[SearchHit]) -> None:
            if run == self._run:
                self.found.emit(tuple(hits))

        try:
            outcome = await self._finder.find(query, take)
        except HermesError:
            if run == self._run:
                self.ended.emit(None)
            raise
        if run == self._run:
            self.ended.emit(outcome)
