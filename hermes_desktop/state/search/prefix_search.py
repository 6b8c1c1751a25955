"""Search for prefixes that occur in a tenth of the messages or more, the newest first.

Before the index returns the first message for ``m*`` it gathers the messages of every word with
that prefix. Their number is estimated from a sample of messages spread over the whole store. For
such a prefix the newest messages are checked one by one instead: all of them, or those that the
index finds by the rest of the query. If that finds too few it ends, and the index is queried for
the remaining messages.
"""

import functools
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from hermes_desktop.state.search import search_index
from hermes_desktop.state.search.search_index import INDEX_OF, asking
from hermes_desktop.state.search.search_query import (
    Combined,
    Node,
    Term,
    Way,
    indexable_terms,
    joined,
    match_expressions,
    terms,
)
from hermes_desktop.state.search.temporary_index import Order, Row, TemporaryIndex

_SAMPLE = 64
_SAMPLE_BYTES = 2_000
_FREQUENT = 0.1
_WORD = re.compile(r"[^\W_]+")


def beginnings(node: Node) -> list[Term]:
    """Return the terms that match longer words, too."""
    return [term for term in terms(node) if term.prefix]


def leaves_out(node: Node) -> bool:
    """Return whether additional text can make a message match no longer."""
    return isinstance(node, Combined) and (node.how == "NOT" or any(map(leaves_out, node.parts)))


def frequent_prefixes(
    conn: sqlite3.Connection, sieve: TemporaryIndex, node: Node, greatest_id: int
) -> dict[Term, float]:
    """Return the terms for which a tenth of the messages or more would have to be gathered.

    Args:
        conn: Connection for reading.
        sieve: An empty one.
        node: The query.
        greatest_id: The greatest id of all messages.

    Returns:
        Each with the share of messages that contain a word with this prefix.

    Raises:
        IndexBrokenError: The index could not be read.
    """
    rows = _sample(conn, sieve, greatest_id)
    shares: dict[Term, float] = {}
    with sieve.holding(rows):
        for term in beginnings(node):
            words = _WORD.findall(term.text)
            if rows and words:
                # Of a phrase only the last word is a prefix; that is what has to be gathered.
                [(_, expression)] = match_expressions(Term(words[-1], prefix=True), "words")
                shares[term] = len(sieve.find(expression)) / len(rows)
    return {term: share for term, share in shares.items() if share >= _FREQUENT}


def _sample(conn: sqlite3.Connection, sieve: TemporaryIndex, greatest_id: int) -> list[Row]:
    found: dict[int, Row] = {}
    with asking():
        for number in range(_SAMPLE):
            row = sieve.read_from(conn, greatest_id * number // _SAMPLE + 1)
            if row is not None:
                message_id, *texts = row
                found[message_id] = (message_id, *(text[:_SAMPLE_BYTES] for text in texts))
    return list(found.values())


def without(node: Node, left_out: Collection[Term]) -> Node | None:
    """Return the query without some terms; it finds all that the whole query finds, and more.

    Returns:
        None when any message at all may match.
    """
    if isinstance(node, Term):
        return _first_words(node) if node in left_out else node if _is_known(node.text) else None
    if node.how == "NOT":
        return without(node.parts[0], left_out)
    parts = [without(part, left_out) for part in node.parts]
    if node.how == "OR" and None in parts:
        return None
    return joined(node.how, [part for part in parts if part is not None])


def _first_words(term: Term) -> Term | None:
    first, _, last = term.text.rpartition(" ")
    return Term(first) if _is_known(first) and _is_known(last) else None


def _is_known(text: str) -> bool:
    """Return whether every index knows a word in it: SQLite's Unicode tables are older."""
    return any(unicodedata.ucd_3_2_0.category(character)[0] in "LN" for character in text)


T = TypeVar("T")

_FIRST_BYTES, _MOST_BYTES = 24_000, 96_000
"""Size of the texts checked in one step, about 3 and 12 ms."""
_FIRST_SPAN, _MOST_SPAN = 500, 16_000
_FIRST_PAGE, _MOST_PAGE = 500, 4_000
_COMPARED_BYTES = 250_000
_HEAD_BYTES = 1_000
_SPARSE, _SPARSE_BYTES, _MUCH_BYTES = 0.04, 600_000, 8_000_000
"""The share of matches below which the index is used, and after how much text; see below."""
_GATHERED_AT_ONCE = 200_000

Found: TypeAlias = tuple[int, str]
"""A message that passes the filters, and its session."""


class Asks(Protocol):
    """A function that runs a query on a read connection, until the search is cancelled."""

    def __call__(self, fn: Callable[[sqlite3.Connection], T], /) -> T:
        """Run the query."""
        ...


class PrefixSearch:
    """One prefix search over the newest messages, used on one thread; close it.

    Args:
        ask: Runs queries.
        node: The query.
        passing: The condition on a message ``m`` of a session ``s``, with its values.
        uninteresting: Returns whether a session's messages are not wanted any more.
        way: The index that will be queried; only the word index has to gather.
        stop: Called between two messages; raises when the search is cancelled.

    Attributes:
        below: Down to this message, inclusive, everything was checked; None if nothing was.
        complete: Whether every message was checked.
        gathered: How many messages, by estimate, the index would gather for frequent prefixes; 0
            means that it is fast enough.
    """

    def __init__(
        self,
        ask: Asks,
        node: Node,
        passing: tuple[str, list[Any]],
        uninteresting: Callable[[str], bool],
        *,
        way: Way,
        stop: Callable[[], None],
    ) -> None:
        self._ask = ask
        self._stop = stop
        self._node = indexable_terms(node) or node
        self._passing = passing
        self._uninteresting = uninteresting
        self._sieve: TemporaryIndex | None = None
        self._rest: Node | None = None
        self._expression = match_expressions(self._node, "words")[0][1]
        self._needs_all = leaves_out(node)
        self._bytes = self._looked = self._fitted = 0
        self.below: int | None = None
        self.complete = False
        self.gathered = 0
        if way == "words" and beginnings(self._node):
            self._prepare()

    def close(self) -> None:
        """Release the memory."""
        if self._sieve is not None:
            self._sieve.close()

    def _prepare(self) -> None:
        def look(conn: sqlite3.Connection) -> None:
            try:
                sieve = self._sieve = TemporaryIndex(conn, INDEX_OF["words"])
            except sqlite3.OperationalError:  # a foreign tokenizer; only the index may support it
                return
            top = greatest_id(conn)
            shares = frequent_prefixes(conn, sieve, self._node, top)
            self.gathered = round(sum(shares.values()) * top)
            self._rest = without(self._node, shares)

        try:
            self._ask(look)
        except BaseException:
            self.close()
            raise

    # -------------------------------------------------------------------------------- scanning

    def run(self, order: Order) -> Iterator[list[int]]:
        """Yield ids of messages that match and pass; sets ``below`` and ``complete``.

        Args:
            order: The newest first; or, among the newest few hundred, the best match first, then
                those among the next few hundred.

        Raises:
            IndexBrokenError: The index could not be read.
        """
        rows: list[Row] = []
        room = _FIRST_BYTES if order == "newest" else _COMPARED_BYTES
        for found, edge in self._portions():
            at = 0
            while at < len(found):
                texts, at = self._ask(functools.partial(self._texts, found, at, room))
                rows += texts
                room -= sum(map(_size, texts))
                if order == "best" and room > 0:
                    continue
                yield from self._fitting(rows, order)
                rows = []
                room = _MOST_BYTES if order == "newest" else _COMPARED_BYTES
                self.below = found[at - 1][0]
                if self._is_futile():
                    return
            self.below = edge
        yield from self._fitting(rows, order)
        self.complete = True

    def _is_futile(self) -> bool:
        """Return whether so few messages match that the index is faster than to continue.

        Gathering very frequent words cannot be interrupted for a second; it is the last resort.
        """
        enough = _SPARSE_BYTES if self.gathered < _GATHERED_AT_ONCE else _MUCH_BYTES
        return self._fitted < self._looked * _SPARSE and self._bytes >= enough

    def _fitting(self, rows: list[Row], order: Order) -> Iterator[list[int]]:
        found = (
            self._find(rows, order) if self._needs_all or order == "best" else self._glance(rows)
        )
        self._looked += len(rows)
        self._fitted += len(found)
        if found:
            yield found

    def _glance(self, rows: list[Row]) -> list[int]:
        """Check the beginnings of long messages first; those that match need no full check."""
        heads = [head for row in rows if (head := _head(row)) is not None]
        fit = set(self._find(heads, "newest"))
        fit.update(self._find([row for row in rows if row[0] not in fit], "newest"))
        return sorted(fit, reverse=True)

    def _find(self, rows: list[Row], order: Order) -> list[int]:
        if self._sieve is None or not rows:
            return []
        self._bytes += sum(map(_size, rows))
        with self._sieve.holding(self._one_by_one(rows)):
            return self._sieve.find(self._expression, order)

    def _one_by_one(self, rows: list[Row]) -> Iterator[Row]:
        for row in rows:
            self._stop()
            yield row

    def _texts(
        self, found: list[Found], at: int, room: int, conn: sqlite3.Connection
    ) -> tuple[list[Row], int]:
        rows: list[Row] = []
        with asking():
            while at < len(found) and room > 0:
                message_id, session_id = found[at]
                at += 1
                if self._sieve is None or self._uninteresting(session_id):
                    continue
                row = self._sieve.read(conn, message_id)
                if row is not None:
                    rows.append(row)
                    room -= _size(row)
        return rows, at

    # ------------------------------------------------------------------------------ candidates

    def _portions(self) -> Iterator[tuple[list[Found], int]]:
        """Yield messages that may match, the newest first, with the lowest id reached."""
        return self._windows() if self._rest is None else self._pages(self._rest)

    def _windows(self) -> Iterator[tuple[list[Found], int]]:
        top, span = self._ask(greatest_id), _FIRST_SPAN
        while top > 0:
            edges = (max(top - span, 0), top)
            which = functools.partial(self._select, "m.id > ? AND m.id <= ?", edges)
            yield self._ask(which), edges[0] + 1
            top, span = edges[0], min(span * 2, _MOST_SPAN)

    def _pages(self, rest: Node) -> Iterator[tuple[list[Found], int]]:
        page = functools.partial(_page, match_expressions(rest, "words"))
        below: int | None = None
        size = _FIRST_PAGE
        while True:
            ids = self._ask(functools.partial(page, below, size))
            if not ids:
                return
            marks = ", ".join("?" * len(ids))
            yield self._ask(functools.partial(self._select, f"m.id IN ({marks})", ids)), ids[-1]
            if len(ids) < size:
                return
            below, size = ids[-1], min(size * 2, _MOST_PAGE)

    def _select(self, which: str, values: Sequence[int], conn: sqlite3.Connection) -> list[Found]:
        passing, more = self._passing
        cursor = conn.cursor()
        cursor.row_factory = None
        return cursor.execute(
            "SELECT m.id, m.session_id FROM messages AS m "
            f"JOIN sessions AS s ON s.id = m.session_id WHERE {which} AND {passing} "
            "ORDER BY m.id DESC",
            (*values, *more),
        ).fetchall()


def _page(
    expressions: search_index.Expressions, below: int | None, size: int, conn: sqlite3.Connection
) -> list[int]:
    return search_index.ids_newest_first(conn, expressions, below=below, limit=size)


def greatest_id(conn: sqlite3.Connection) -> int:
    """Return the greatest id of all messages, 0 without any."""
    return int(conn.execute("SELECT max(id) FROM messages").fetchone()[0] or 0)


def _size(row: Row) -> int:
    return sum(map(len, row[1:]))


def _head(row: Row) -> Row | None:
    """Return the message with its texts cut between two words, None for a short one."""
    if _size(row) < 2 * _HEAD_BYTES:
        return None
    return (row[0], *(text[: text.rfind(b" ", 0, _HEAD_BYTES) + 1] for text in row[1:]))
