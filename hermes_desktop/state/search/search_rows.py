"""Search results as plain rows, with the semantics expected by other programs."""

import contextlib
import sqlite3
from dataclasses import dataclass
from typing import Any

from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.records.content_codec import decode_content, plain_text
from hermes_desktop.state.records.stored_values import as_seconds, seconds_sql
from hermes_desktop.state.search import search_index
from hermes_desktop.state.search.prefix_search import PrefixSearch
from hermes_desktop.state.search.search import MOST_GATHERED, filters
from hermes_desktop.state.search.search_index import INDEX_OF, IndexBrokenError
from hermes_desktop.state.search.search_query import (
    Combined,
    Node,
    Way,
    match_expressions,
    parse,
    row_condition,
    search_method,
    wanted,
)
from hermes_desktop.state.search.search_records import SearchQuery
from hermes_desktop.state.search.snippets import Marker, snippet_of, texts_of

_CHUNK = 500
_CONTEXT_CHARS = 200
_PART_CHARS, _PART_BEFORE = 120, 40
_ORDERS = {
    "newest": f"{seconds_sql('m.timestamp')} DESC, m.id DESC",
    "oldest": f"{seconds_sql('m.timestamp')}, m.id",
}


@dataclass(frozen=True, slots=True)
class Request:
    """A query and the requested page of its results."""

    query: SearchQuery
    limit: int
    offset: int
    sort: str | None


def find(conn: sqlite3.Connection, layout: FileLayout, request: Request) -> list[dict[str, Any]]:
    """Return the rows of one page."""
    node = parse(request.query.text)
    if node is None:
        return []
    way = search_method(node)
    ids: list[int] | None = None
    if way != "scan" and search_index.notice_about(conn, layout, way) is not search_index.MISSING:
        try:
            ids = _by_index(conn, node, way, request)
        except IndexBrokenError:
            ids = None
    if ids is None:
        way = "scan"
        ids = _by_reading(conn, node, request)
    marker = Marker(wanted(node), words=way == "words")
    rows = _rows(conn, ids)
    return [_row(conn, rows[each], marker, way) for each in ids if each in rows]


def _by_index(conn: sqlite3.Connection, node: Node, way: Way, request: Request) -> list[int]:
    expressions = match_expressions(node, way)
    sifted = None if request.sort == "oldest" else _sifted(conn, node, way, request)
    if sifted is not None:
        return sifted
    if request.sort is None:
        return _best(conn, expressions, request)
    condition, values = filters(request.query)
    matches = " UNION ".join(
        f"SELECT rowid FROM {INDEX_OF[way]} WHERE {INDEX_OF[way]} MATCH ?" for way, _ in expressions
    )
    return search_index.select_ids(
        conn,
        f"SELECT m.id FROM ({matches}) AS f JOIN messages AS m ON m.id = f.rowid "
        f"JOIN sessions AS s ON s.id = m.session_id WHERE {condition} "
        f"ORDER BY {_ORDERS[request.sort]} LIMIT ? OFFSET ?",
        (*(text for _, text in expressions), *values, request.limit, request.offset),
    )


def _sifted(conn: sqlite3.Connection, node: Node, way: Way, request: Request) -> list[int] | None:
    """Return results from the newest messages, if the index would gather very many for a prefix.

    Returns:
        None when the index is fast enough, or too few messages match.
    """
    end = request.offset + request.limit
    found: list[int] = []
    sifting = PrefixSearch(
        lambda fn: fn(conn),
        node,
        filters(request.query),
        lambda _: False,
        way=way,
        stop=lambda: None,
    )
    with contextlib.closing(sifting):
        if sifting.gathered <= MOST_GATHERED:
            return None
        for ids in sifting.run("best" if request.sort is None else "newest"):
            found += ids
            if len(found) >= end:
                break
        else:
            if not sifting.complete:
                return None
    if request.sort is not None:
        times = {row["id"]: as_seconds(row["timestamp"]) for row in _rows(conn, found).values()}
        found.sort(key=lambda each: (times.get(each, 0.0), each), reverse=True)
    return found[request.offset : end]


def _best(
    conn: sqlite3.Connection, expressions: search_index.Expressions, request: Request
) -> list[int]:
    """Look up only the best matches in the tables; all of them when filters leave too few."""
    end = request.offset + request.limit
    look = max(end * 5, _CHUNK)
    ids = search_index.ids_best_first(conn, expressions, limit=look)
    passed = _passing(conn, ids, request)
    if len(passed) < end and len(ids) == look:
        ids = search_index.ids_best_first(conn, expressions, limit=-1)
        passed = _passing(conn, ids, request)
    return passed[request.offset : end]


def _passing(conn: sqlite3.Connection, ids: list[int], request: Request) -> list[int]:
    condition, values = filters(request.query)
    end = request.offset + request.limit
    passed: list[int] = []
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        found = {
            row[0]
            for row in conn.execute(
                "SELECT m.id FROM messages AS m JOIN sessions AS s ON s.id = m.session_id "
                f"WHERE m.id IN ({', '.join('?' * len(chunk))}) AND {condition}",
                (*chunk, *values),
            ).fetchall()
        }
        passed += [each for each in chunk if each in found]
        if len(passed) >= end:
            break
    return passed


def _by_reading(conn: sqlite3.Connection, node: Node, request: Request) -> list[int]:
    terms = wanted(node)
    either = terms[0] if len(terms) == 1 else Combined("OR", tuple(terms))
    words, word_values = row_condition(either)
    condition, values = filters(request.query)
    rows = conn.execute(
        "SELECT m.id FROM messages AS m JOIN sessions AS s ON s.id = m.session_id "
        f"WHERE {words} AND {condition} "
        f"ORDER BY {_ORDERS[request.sort or 'newest']} LIMIT ? OFFSET ?",
        (*word_values, *values, request.limit, request.offset),
    ).fetchall()
    return [row[0] for row in rows]


def _rows(conn: sqlite3.Connection, ids: list[int]) -> dict[int, sqlite3.Row]:
    found: dict[int, sqlite3.Row] = {}
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        for row in conn.execute(
            "SELECT m.id, m.session_id, m.role, m.timestamp, m.content, m.tool_name, m.tool_calls, "
            "s.source, s.model, s.started_at AS session_started "
            "FROM messages AS m JOIN sessions AS s ON s.id = m.session_id "
            f"WHERE m.id IN ({', '.join('?' * len(chunk))})",
            chunk,
        ).fetchall():
            found[row["id"]] = row
    return found


def _row(conn: sqlite3.Connection, row: sqlite3.Row, marker: Marker, way: Way) -> dict[str, Any]:
    texts = texts_of(row["content"], row["tool_name"], row["tool_calls"])
    snippet = _part(marker, texts) if way == "scan" else snippet_of(marker, texts).marked()
    return {
        "id": row["id"],
        "session_id": row["session_id"],
        "role": row["role"],
        "snippet": snippet,
        "timestamp": row["timestamp"],
        "tool_name": row["tool_name"],
        "source": row["source"],
        "model": row["model"],
        "session_started": row["session_started"],
        "context": _context(conn, row),
    }


def _part(marker: Marker, texts: list[str]) -> str:
    """Return the text around the hit, without marks."""
    for text in texts:
        place = marker.first(text)
        if place is not None:
            start = max(0, place - _PART_BEFORE)
            return text[start : start + _PART_CHARS]
    return texts[0][:_PART_CHARS]


_NEIGHBOUR = """
SELECT m.role, m.content FROM messages AS m
WHERE m.session_id = ? AND (m.timestamp, m.id) {sign} (?, ?)
  AND (m.active = 1 OR m.compacted = 1) AND m.role <> 'session_meta'
ORDER BY m.timestamp {way}, m.id {way} LIMIT 1
"""
_BEFORE = _NEIGHBOUR.format(sign="<", way="DESC")
_AFTER = _NEIGHBOUR.format(sign=">", way="ASC")


def _context(conn: sqlite3.Connection, row: sqlite3.Row) -> list[dict[str, Any]]:
    place = (row["session_id"], row["timestamp"], row["id"])
    around = [
        conn.execute(_BEFORE, place).fetchone(),
        row,
        conn.execute(_AFTER, place).fetchone(),
    ]
    return [
        {"role": each["role"], "content": _shown(each["content"])}
        for each in around
        if each is not None
    ]


def _shown(stored: Any) -> str:
    content = decode_content(stored)
    text = plain_text(content)
    if not text and isinstance(content, list | dict):
        return "[multimodal content]"
    return text[:_CONTEXT_CHARS]
