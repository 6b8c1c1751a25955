"""Full-text search over the messages of all sessions, made for search as you type."""

import asyncio
from collections.abc import Callable, Sequence

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.state import SessionDB
from hermes_desktop.state.search.search_cancellation import SearchCancelSignal
from hermes_desktop.state.search.search_records import SearchHit, SearchOutcome, SearchQuery

OnHits = Callable[[Sequence[SearchHit]], None]


class SessionSearch:
    """Runs one search at a time; a new one ends the previous one. Called on the event loop.

    Args:
        db: The shared file.
        worker: The ``state-search`` worker; of its two threads, one may still be ending an
            abandoned search in SQLite.
    """

    def __init__(self, db: SessionDB, worker: WorkerThreads) -> None:
        self._db = db
        self._worker = worker
        self._cancel: SearchCancelSignal | None = None

    async def find(self, query: SearchQuery, on_hits: OnHits) -> SearchOutcome:
        """Find messages; ends the running search.

        Args:
            query: The query.
            on_hits: Called on the loop with each page as soon as it is found; never after
                :meth:`cancel`, or after another search has started.

        Returns:
            The outcome; ``cancelled`` when it was ended early.

        Raises:
            BusyError: Another program keeps the file locked.
            StateError: The messages cannot be read.
        """
        self.cancel()
        cancel = self._cancel = SearchCancelSignal()
        loop = asyncio.get_running_loop()

        def deliver(hits: Sequence[SearchHit]) -> None:
            if not cancel.is_set():
                on_hits(hits)

        def found(hits: Sequence[SearchHit]) -> None:
            loop.call_soon_threadsafe(deliver, tuple(hits))

        def run() -> SearchOutcome:
            if cancel.is_set():
                return SearchOutcome(0, cancelled=True)
            return self._db.search(query, on_hits=found, cancel=cancel)

        try:
            return await self._worker.run(run)
        except asyncio.CancelledError:
            cancel.set()
            raise

    def cancel(self) -> None:
        """End the running search within milliseconds; harmless without one."""
        if self._cancel is not None:
            self._cancel.set()
            self._cancel = None
