"""Searches the messages once typing pauses; whatever is typed next ends the search before."""

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
"""Characters below which only titles are searched."""
FIRST_HITS = 50
MORE_HITS = 200
_PAGE = 50
_NOT_LISTED = ("tool",)


class Finder(Protocol):
    """What is needed of the services."""

    async def find(
        self, query: SearchQuery, on_hits: Callable[[Sequence[SearchHit]], None]
    ) -> SearchOutcome:
        """Find messages; raises StateError."""
        ...

    def cancel(self) -> None:
        """End the search that runs."""
        ...


class MessageSearch(QObject):
    """Holds what is looked for and tells what is found.

    Args:
        finder: Does it.
        slots: Runs it; a failure becomes a notice.

    Signals:
        changed: Another text is looked for, or none; what was found belongs to the former.
        began: A search runs now; True when it only goes on beyond what was found.
        found: More hits of it, a tuple.
        ended: It is over: its :class:`SearchOutcome`, None when it failed.
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
        """What is looked for, None for nothing."""
        return self._query

    @property
    def best_first(self) -> bool:
        """Whether the best match comes first, not the newest."""
        return self._query is not None and self._query.order == "best"

    def look_for(self, text: str, source: str | None, *, archived: bool, best_first: bool) -> None:
        """Search after a pause; a text of fewer than two characters ends the search.

        Args:
            text: What a person typed.
            source: Only in conversations of this one, None for all.
            archived: Only in archived conversations; otherwise only in the others.
            best_first: The best match first, not the newest.
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
        """Do not wait for the pause."""
        if self._wait.isActive():
            self._wait.stop()
            self._begin()

    def more(self) -> None:
        """Look for more of the same."""
        query = self._query
        if query is not None:
            self._query = replace(query, limit=query.limit + MORE_HITS)
            self._begin(continued=True)

    def stop(self) -> None:
        """Look for nothing any more."""
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
