"""Word prefixes that occur in so many messages that the index takes long to gather them.

Before the index returns the first message for ``m*`` it gathers the messages of every word with
that prefix. Their number is estimated from a sample of messages spread over the whole store.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Collection

from hermes_desktop.state.search.search_index import asking
from hermes_desktop.state.search.search_query import (
    Combined,
    Node,
    Term,
    joined,
    match_expressions,
    terms,
)
from hermes_desktop.state.search.temporary_index import Row, TemporaryIndex

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
