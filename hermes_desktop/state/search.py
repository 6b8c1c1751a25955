"""Searching all conversations: hits in pages, as they are found.

Each page is a few short queries; between pages no read transaction stays open and the caller may
stop. Newest first means the greatest row ids first, which the index gives without looking at more
than it returns; the words around a hit are made for those alone that are shown.
"""

import functools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from hermes_desktop.state import lineage, search_index
from hermes_desktop.state.content_codec import clean_text
from hermes_desktop.state.schema import FileLayout
from hermes_desktop.state.search_index import DAMAGED, IndexBrokenError
from hermes_desktop.state.search_query import (
    Node,
    Way,
    match_expressions,
    parse,
    row_condition,
    wanted,
    way_of,
)
from hermes_desktop.state.search_records import (
    SearchHit,
    SearchNotice,
    SearchOutcome,
    SearchQuery,
)
from hermes_desktop.state.snippets import Marker, snippet_of, texts_of
from hermes_desktop.state.stopping import CancelSignal, StoppedError, stoppable

T = TypeVar("T")

_CHUNK = 500
_LARGEST_PAGE = 2_000
_BEST_FIRST_LOOK = 500
_MOST_COMPARED = 100_000
_SCAN_FIRST, _SCAN_MOST = 2_000, 64_000


class Reads(Protocol):
    """The store, as far as a search needs it."""

    @property
    def layout(self) -> FileLayout:
        """Which tables the file has."""
        ...

    def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query."""
        ...


class Search:
    """One search, used on one thread.

    Args:
        db: Where to look.
        query: What for.
        cancel: Set from any thread to stop at once.
    """

    def __init__(self, db: Reads, query: SearchQuery, cancel: CancelSignal | None = None) -> None:
        self._db = db
        self._query = query
        self._cancel = cancel
        self._node = parse(query.text, prefix=query.prefix)
        self._way: Way = "words" if self._node is None else way_of(self._node)
        self._notice: SearchNotice | None = None
        self._conversations: dict[str, tuple[str, str]] = {}
        self._shown: set[str] = set()
        self._marker = Marker(wanted(self._node), words=self._way == "words")

    def run(self, on_hits: Callable[[Sequence[SearchHit]], None]) -> SearchOutcome:
        """Find and deliver.

        Args:
            on_hits: Called on this thread with each page, in order.

        Raises:
            BusyError: Another program keeps the file locked.
            StateError: The messages cannot be read.
        """
        found, more, cancelled = 0, False, False
        try:
            for ids in () if self._node is None else self._candidates(self._node):
                for hits in self._pages(ids, self._query.limit - found):
                    found += len(hits)
                    on_hits(hits)
                    self._stop_if_cancelled()
                if found >= self._query.limit:
                    more = True
                    break
        except StoppedError:
            cancelled = True
        return SearchOutcome(found, more, cancelled, self._way, self._notice)

    # ------------------------------------------------------------------------------ candidates

    def _candidates(self, node: Node) -> Iterator[list[int]]:
        """Row ids that fit the words, in the order wanted, in growing portions."""
        self._notice = self._ask(
            lambda conn: search_index.notice_about(conn, self._db.layout, self._way)
        )
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

    def _by_index(self, node: Node) -> Iterator[list[int]]:
        expressions = match_expressions(node, self._way)
        if self._query.order == "best":
            yield from self._best(expressions)
            return

        def page(conn: sqlite3.Connection, below: int | None, limit: int) -> list[int]:
            return search_index.ids_newest_first(conn, expressions, below=below, limit=limit)

        below: int | None = None
        size = min(self._query.page_size, self._query.limit)
        if self._query.one_per_conversation:
            size = max(size, _CHUNK)  # most may belong to one, and each question costs anew
        while True:
            ids = self._ask(functools.partial(page, below=below, limit=size))
            if ids:
                yield ids
            if len(ids) < size:
                return
            below, size = ids[-1], min(size * 2, _LARGEST_PAGE)

    def _best(self, expressions: search_index.Expressions) -> Iterator[list[int]]:
        look = max(self._query.limit * 5, _BEST_FIRST_LOOK)

        def best(conn: sqlite3.Connection, limit: int) -> list[int]:
            return search_index.ids_best_first(
                conn, expressions, limit=limit, newest=_MOST_COMPARED
            )

        ids = self._ask(functools.partial(best, limit=look))
        if ids:
            yield ids
        if len(ids) == look:  # filters left too few of the best
            seen = set(ids)
            yield [
                each for each in self._ask(functools.partial(best, limit=-1)) if each not in seen
            ]

    def _by_reading(self, node: Node, below: int | None) -> Iterator[list[int]]:
        condition, values = row_condition(node)
        top = self._ask(_greatest_id) if below is None else below - 1
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
            passed = self._ask(functools.partial(self._passing, chunk))[:room]
            for first in range(0, len(passed), self._query.page_size):
                page = passed[first : first + self._query.page_size]
                hits = self._ask(functools.partial(self._hits, page))
                if hits:
                    yield hits
                room -= len(hits)
            if room <= 0:
                return

    def _passing(self, ids: list[int], conn: sqlite3.Connection) -> list[int]:
        """Those that pass the filters, in the same order; with grouping, the first of each."""
        condition, values = filters(self._query)
        rows = conn.execute(
            "SELECT m.id, m.session_id FROM messages AS m "
            "JOIN sessions AS s ON s.id = m.session_id "
            f"WHERE m.id IN ({', '.join('?' * len(ids))}) AND {condition}",
            (*ids, *values),
        ).fetchall()
        session_of = {row[0]: row[1] for row in rows}
        passed = [each for each in ids if each in session_of]
        if not self._query.one_per_conversation:
            return passed
        first: list[int] = []
        for each in passed:
            root, _ = self._conversation(conn, session_of[each])
            if root not in self._shown:
                self._shown.add(root)
                first.append(each)
        return first

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
            timestamp=row["timestamp"],
            snippet=snippet.text,
            marks=snippet.marks,
            source=row["source"],
            title=title[0] if title else None,
            session_started=row["started_at"],
            tool_name=row["tool_name"],
        )

    def _conversation(self, conn: sqlite3.Connection, session_id: str) -> tuple[str, str]:
        known = self._conversations.get(session_id)
        if known is None:
            root = [session_id, *lineage.compression_ancestors(conn, session_id)][-1]
            known = (root, lineage.compression_tip(conn, root))
            self._conversations[session_id] = known
        return known

    # -------------------------------------------------------------------------------- stopping

    def _stop_if_cancelled(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise StoppedError

    def _ask(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        self._stop_if_cancelled()
        return self._db.read(lambda conn: stoppable(conn, fn, self._cancel))


def filters(query: SearchQuery) -> tuple[str, list[Any]]:
    """The condition on a message ``m`` of a session ``s`` beside the words, with its values."""
    parts = ["m.role <> 'session_meta'"]
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


def _greatest_id(conn: sqlite3.Connection) -> int:
    return int(conn.execute("SELECT max(id) FROM messages").fetchone()[0] or 0)


def _scan(
    condition: str, edges: tuple[int, int], values: list[str], conn: sqlite3.Connection
) -> list[int]:
    rows = conn.execute(
        f"SELECT m.id FROM messages AS m WHERE m.id > ? AND m.id <= ? AND {condition} "
        "ORDER BY m.id DESC",
        (*edges, *values),
    ).fetchall()
    return [row[0] for row in rows]
