"""The search methods of SessionDB."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from hermes_desktop.state.facade.session_reads import SessionReads
from hermes_desktop.state.records.cancellation import CancelSignal
from hermes_desktop.state.search import search_rows
from hermes_desktop.state.search.search import Search
from hermes_desktop.state.search.search_records import SearchHit, SearchOutcome, SearchQuery


class SearchFace(SessionReads):
    """The part of :class:`SessionDB` that searches messages; any thread may use it."""

    def search(
        self,
        query: SearchQuery,
        *,
        on_hits: Callable[[Sequence[SearchHit]], None],
        cancel: CancelSignal | None = None,
    ) -> SearchOutcome:
        """Find messages and deliver them in pages.

        Args:
            query: The query.
            on_hits: Called on the calling thread with each page, in order.
            cancel: Set from another thread to stop; a running SQLite query ends within
                milliseconds, soonest by an
                :class:`~hermes_desktop.state.search.search_cancellation.SearchCancelSignal`.

        Raises:
            BusyError: Another program keeps the file locked.
            StateError: The messages cannot be read.
        """
        return Search(self, query, cancel).run(on_hits)

    def search_messages(  # noqa: PLR0913, PLR0917 - called so by programs that use this class
        self,
        query: str,
        source_filter: Collection[str] | None = None,
        exclude_sources: Collection[str] | None = None,
        role_filter: Collection[str] | None = None,
        limit: int = 20,
        offset: int = 0,
        sort: str | None = None,
        include_inactive: bool = False,  # noqa: FBT001, FBT002 - see SessionDB
    ) -> list[dict[str, Any]]:
        """Find messages as rows with a snippet (``>>>hit<<<``) and the surrounding messages.

        Args:
            query: Words, "phrases", ``prefixes*``, AND, OR, NOT; never an error.
            source_filter: Only in conversations of these sources.
            exclude_sources: Not in these.
            role_filter: Only messages of these roles.
            limit: Maximum number of rows.
            offset: Number of rows to skip.
            sort: ``newest`` or ``oldest``; anything else: the best match first.
            include_inactive: Also messages that the user undid.
        """
        request = search_rows.Request(
            SearchQuery(
                query,
                sources=source_filter or None,
                exclude_sources=exclude_sources or (),
                roles=role_filter or None,
                include_rewound=include_inactive,
            ),
            limit=limit,
            offset=offset,
            sort=sort if sort in {"newest", "oldest"} else None,
        )
        return self.read(lambda conn: search_rows.find(conn, self.layout, request))
