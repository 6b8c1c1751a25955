"""Search over all conversations that delivers hits in pages as they are found.

Each page takes a few short queries; between pages no read transaction stays open and the caller may
stop. Newest first means the greatest row ids first, which the index returns without reading more
than it returns, except for prefixes of many words (see :mod:`prefix_search`); snippets are built
only for the hits that are shown.
"""

import contextlib
import functools
import itertools
import json
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.records.cancellation import CancelSignal, StoppedError
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.stored_values import as_seconds, as_title
from hermes_desktop.state.records.transcript_rows import is_shown_sql
from hermes_desktop.state.search import search_index
from hermes_desktop.state.search.prefix_search import PrefixSearch, greatest_id
from hermes_desktop.state.search.search_cancellation import ended_by
from hermes_desktop.state.search.search_index import DAMAGED, IndexBrokenError
from hermes_desktop.state.search.search_query import (
    Node,
    Way,
    is_shortened,
    match_expressions,
    parse,
    row_condition,
    search_method,
    wanted,
)
from hermes_desktop.state.search.search_records import (
    SearchHit,
    SearchNotice,
    SearchOutcome,
    SearchQuery,
)
from hermes_desktop.state.search.snippets import Marker, snippet_of, texts_of
from hermes_desktop.state.sessions import lineage
from hermes_desktop.state.sessions.transit_rows import NOT_ON_ITS_WAY

T = TypeVar("T")

_CHUNK = 500
_LARGEST_PAGE = 2_000
_BEST_FIRST_LOOK = 500
_MOST_COMPARED = 60_000
MOST_GATHERED = 25_000
"""For prefixes of more messages than this, the newest messages are scanned instead of the index."""
_SCAN_FIRST, _SCAN_MOST = 2_000, 64_000


class QueryRunner(Protocol):
    """The part of the store that a search needs."""

    @property
    def layout(self) -> FileLayout:
        """The tables of the file."""
        ...

    def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query."""
        ...


class Search:
    """One search, used on one thread.

    Args:
        db: The store to search.
        query: The query.
        cancel: Set from any thread to stop immediately.
    """

    def __init__(
        self, db: QueryRunner, query: SearchQuery, cancel: CancelSignal | None = None
    ) -> None:
        self._db = db
        self._query = query
        self._cancel = cancel
        self._node = parse(query.text, prefix=query.prefix)
        self._way: Way = "words" if self._node is None else search_method(self._node)
        self._notice: SearchNotice | None = None
        self._conversations: dict[str, tuple[str, str]] = {}
        self._shown: set[str] = set()
        self._marker = Marker(wanted(self._node), words=self._way == "words")
        self._filters = filters(query)
        self._archive = Archive()

    def run(self, on_hits: Callable[[Sequence[SearchHit]], None]) -> SearchOutcome:
        """Run the search and deliver the hits.

        Args:
            on_hits: Called on this thread with each page, in order.

        Raises:
            BusyError: Another program keeps the file locked.
            StateError: The messages cannot be read.
        """
        found, cancelled = 0, False
        with contextlib.closing(self._candidates()) as candidates:
            try:
                for ids in candidates:
                    for hits in self._pages(ids, self._query.limit - found):
                        found += len(hits)
                        on_hits(hits)
                        self._stop_if_cancelled()
                    if found >= self._query.limit:
                        break
            except StoppedError:
                cancelled = True
        more = found >= self._query.limit and not cancelled
        shortened = search_index.SHORTENED if is_shortened(self._query.text) else None
        return SearchOutcome(found, more, cancelled, self._way, self._notice or shortened)

    # ------------------------------------------------------------------------------ candidates

    def _candidates(self) -> Generator[list[int], None, None]:
        """Yield row ids that match the query, in the requested order, in growing portions."""
        node = self._node
        if node is None:
            return
        self._notice = self._ask(
            lambda conn: search_index.notice_about(conn, self._db.layout, self._way)
        )
        if self._query.archived:
            self._keep_to_archive()
        below: int | None = None
        if self._way != "scan" and self._notice is not search_index.MISSING:
            try:
                for ids in self._by_index(node):
                    yield ids
                    below = ids[-1] if self._query.order == "newest" else None
            except IndexBrokenError:
                self._notice = DAMAGED
            else:
                return
        self._way = "scan"
        yield from self._by_reading(node, below)

    def _keep_to_archive(self) -> None:
        condition, values = self._filters
        sessions = json.dumps(self._ask(self._archive.everything))
        within = " AND m.session_id IN (SELECT value FROM json_each(?))"
        self._filters = condition + within, [*values, sessions]

    def _by_index(self, node: Node) -> Iterator[list[int]]:
        with contextlib.closing(self._sifting(node)) as sifting:
            expressions = match_expressions(node, self._way)
            if self._query.order == "best":
                yield from self._best(expressions, sifting)
                return
            if sifting.gathered:
                yield from sifting.run("newest")
            if not sifting.complete:
                yield from self._newest(expressions, sifting.below)

    def _sifting(self, node: Node) -> PrefixSearch:
        return PrefixSearch(
            self._ask,
            node,
            self._filters,
            self._is_settled,
            way=self._way,
            stop=self._stop_if_cancelled,
        )

    def _newest(
        self, expressions: search_index.Expressions, below: int | None
    ) -> Iterator[list[int]]:
        def page(conn: sqlite3.Connection, below: int | None, limit: int) -> list[int]:
            return search_index.ids_newest_first(conn, expressions, below=below, limit=limit)

        size = min(self._query.page_size, self._query.limit)
        if self._query.one_per_conversation:
            size = max(size, _CHUNK)  # most may be of one conversation; each query has a cost
        while True:
            ids = self._ask(functools.partial(page, below=below, limit=size))
            if ids:
                yield ids
            if len(ids) < size:
                return
            below, size = ids[-1], min(size * 2, _LARGEST_PAGE)

    def _best(
        self, expressions: search_index.Expressions, sifting: PrefixSearch
    ) -> Iterator[list[int]]:
        def best(conn: sqlite3.Connection, limit: int) -> list[int]:
            return search_index.ids_best_first(
                conn, expressions, limit=limit, newest=_MOST_COMPARED
            )

        seen: set[int] = set()
        if sifting.gathered > MOST_GATHERED:
            for ids in sifting.run("best"):
                yield ids
                seen.update(ids)
            if sifting.complete:
                return
        # Filters may leave too few of the best; then all are checked.
        for limit in (max(self._query.limit * 5, _BEST_FIRST_LOOK), -1):
            ids = self._ask(functools.partial(best, limit=limit))
            yield [each for each in ids if each not in seen]
            if len(ids) < limit:
                return
            seen.update(ids)

    def _by_reading(self, node: Node, below: int | None) -> Iterator[list[int]]:
        condition, values = row_condition(node)
        top = self._ask(greatest_id) if below is None else below - 1
        span = _SCAN_FIRST
        while top > 0:
            edges = (top - span, top)
            ids = self._ask(functools.partial(_scan, condition, edges, values))
            if ids:
                yield ids
            self._stop_if_cancelled()
            top, span = top - span, min(span * 2, _SCAN_MOST)

    # ------------------------------------------------------------------------------------ hits

    def _pages(self, ids: list[int], room: int) -> Iterator[list[SearchHit]]:
        for start in range(0, len(ids), _CHUNK):
            chunk = ids[start : start + _CHUNK]
            passed = self._ask(functools.partial(self._passing, chunk, room))
            for first in range(0, len(passed), self._query.page_size):
                page = passed[first : first + self._query.page_size]
                hits = self._ask(functools.partial(self._hits, page))
                if hits:
                    yield hits
                room -= len(hits)
            if room <= 0:
                return

    def _passing(self, ids: list[int], room: int, conn: sqlite3.Connection) -> list[int]:
        """Return the ids that pass the filters, in order; with grouping, only the first of each."""
        condition, values = self._filters
        rows = conn.execute(
            "SELECT m.id, m.session_id FROM messages AS m "
            "JOIN sessions AS s ON s.id = m.session_id "
            f"WHERE m.id IN ({', '.join('?' * len(ids))}) AND {condition}",
            (*ids, *values),
        ).fetchall()
        session_of = {row[0]: row[1] for row in rows}
        passed = (
            each for each in ids if each in session_of and self._is_wanted(conn, session_of[each])
        )
        return list(itertools.islice(passed, room))

    def _is_wanted(self, conn: sqlite3.Connection, session_id: str) -> bool:
        """Return whether a hit in this session is to be delivered.

        With grouping, only the first one of a conversation is.
        """
        if self._query.archived is False and self._archive.holds(conn, session_id):
            return False
        if self._query.one_per_conversation:
            root, _ = self._conversation(conn, session_id)
            if root in self._shown:
                return False
            self._shown.add(root)
        return True

    def _is_settled(self, session_id: str) -> bool:
        """Return whether no more hits of this session are wanted, as far as is already known."""
        if self._query.archived is False and self._archive.is_known_archived(session_id):
            return True
        known = self._conversations.get(session_id)
        return known is not None and known[0] in self._shown

    def _hits(self, ids: list[int], conn: sqlite3.Connection) -> list[SearchHit]:
        rows = conn.execute(
            "SELECT m.id, m.session_id, m.role, m.timestamp, m.content, m.tool_name, m.tool_calls, "
            "s.source, s.started_at FROM messages AS m JOIN sessions AS s ON s.id = m.session_id "
            f"WHERE m.id IN ({', '.join('?' * len(ids))})",
            ids,
        ).fetchall()
        by_id = {row["id"]: row for row in rows}
        return [self._hit(conn, by_id[each]) for each in ids if each in by_id]

    def _hit(self, conn: sqlite3.Connection, row: sqlite3.Row) -> SearchHit:
        root, tip = self._conversation(conn, row["session_id"])
        title = conn.execute("SELECT title FROM sessions WHERE id = ?", (tip,)).fetchone()
        texts = texts_of(row["content"], row["tool_name"], row["tool_calls"])
        snippet = snippet_of(self._marker, texts)
        return SearchHit(
            message_id=row["id"],
            session_id=row["session_id"],
            root_id=root,
            tip_id=tip,
            role=row["role"],
            timestamp=as_seconds(row["timestamp"]),
            snippet=snippet.text,
            marks=snippet.marks,
            source=row["source"],
            title=as_title(title[0]) if title else None,
            session_started=as_seconds(row["started_at"]),
            tool_name=row["tool_name"],
        )

    def _conversation(self, conn: sqlite3.Connection, session_id: str) -> tuple[str, str]:
        known = self._conversations.get(session_id)
        if known is None:
            root = [session_id, *lineage.compression_ancestors(conn, session_id)][-1]
            known = (root, lineage.compression_tip(conn, root))
            self._conversations[session_id] = known
        return known

    # ---------------------------------------------------------------------------- cancellation

    def _stop_if_cancelled(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise StoppedError

    def _ask(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        self._stop_if_cancelled()
        try:
            return self._db.read(lambda conn: ended_by(conn, fn, self._cancel))
        except IndexBrokenError:
            self._stop_if_cancelled()  # an interrupted read may look like damage to the engine
            raise


def filters(query: SearchQuery) -> tuple[str, list[Any]]:
    """Return the condition on a message ``m`` of a session ``s`` besides its text, with values."""
    parts = ["m.role <> 'session_meta'", NOT_ON_ITS_WAY, is_shown_sql("m")]
    values: list[Any] = []
    if not query.include_rewound:
        parts.append("(m.active = 1 OR m.compacted = 1)")
    choices = (
        ("s.source IN", query.sources),
        ("s.source NOT IN", query.exclude_sources or None),
        ("m.role IN", query.roles),
        ("m.session_id IN", query.session_ids),
    )
    for left, wanted_values in choices:
        if wanted_values is not None:
            parts.append(f"{left} ({', '.join('?' * len(wanted_values))})")
            values += [clean_text(value) for value in wanted_values]
    return " AND ".join(parts), values


def _scan(
    condition: str, edges: tuple[int, int], values: list[str], conn: sqlite3.Connection
) -> list[int]:
    rows = conn.execute(
        f"SELECT m.id FROM messages AS m WHERE m.id > ? AND m.id <= ? AND {condition} "
        "ORDER BY m.id DESC",
        (*edges, *values),
    ).fetchall()
    return [row[0] for row in rows]


_FACTS = f"""
SELECT coalesce(s.archived, 0) <> 0, {lineage.marker("_delegate_from", "s")} IS NOT NULL,
  s.parent_session_id
FROM sessions AS s WHERE s.id = ?
"""


class Archive:
    """A cache of which sessions are archived, for one search. Used on one thread.

    As in the list, the oldest row of a conversation decides. A subagent is in no list; it is
    treated like the session it worked for.
    """

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def is_known_archived(self, session_id: str) -> bool:
        """Return whether this session is already known to be archived."""
        return self._known.get(session_id, False)

    def holds(self, conn: sqlite3.Connection, session_id: str) -> bool:
        """Return whether this session belongs to an archived conversation."""
        known = self._known.get(session_id)
        if known is None:
            known = self._known[session_id] = _is_archived(conn, session_id)
        return known

    def everything(self, conn: sqlite3.Connection) -> list[str]:
        """Return all archived sessions.

        Reads every session's row: tens of milliseconds in a large home.
        """
        rows = conn.execute("SELECT id FROM sessions WHERE archived <> 0").fetchall()
        waiting = [row[0] for row in rows if self.holds(conn, row[0])]
        found = dict.fromkeys(waiting)
        while waiting:
            below = conn.execute(
                "SELECT id FROM sessions WHERE parent_session_id = ?", (waiting.pop(),)
            ).fetchall()
            fresh = [row[0] for row in below if row[0] not in found and self.holds(conn, row[0])]
            found.update(dict.fromkeys(fresh))
            waiting += fresh
        return list(found)


def _is_archived(conn: sqlite3.Connection, session_id: str | None) -> bool:
    seen: set[str] = set()
    while session_id is not None and session_id not in seen and len(seen) < lineage.MAX_STEPS:
        seen.add(session_id)
        root = [session_id, *lineage.compression_ancestors(conn, session_id)][-1]
        archived, is_subagent, parent = conn.execute(_FACTS, (root,)).fetchone() or (0, 0, None)
        if archived:
            return True
        session_id = parent if is_subagent else None
    return False
