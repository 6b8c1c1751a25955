"""The order of the session list, its lines as records and rows, and the filter text they match.

Sorting all conversations by their latest message takes the longer the more there are. A short list
needs only those that were written to last: messages are read in descending order of their row ids
until no earlier message can be as recent as the last line that is shown.
"""

import functools
import math
import re
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import SessionRow, SessionSummary
from hermes_desktop.state.records.stored_rows import chunks, marks
from hermes_desktop.state.records.stored_values import (
    LATEST_SECONDS,
    as_count,
    as_seconds,
    as_text,
    as_title,
)
from hermes_desktop.state.sessions import lineage, pins
from hermes_desktop.state.sessions.lineage import Chains, Segment
from hermes_desktop.state.sessions.session_list import (
    Line,
    ListFilter,
    all_columns,
    load_lines,
    project,
    rich_rows,
    where,
)

_TITLE_MARKS = re.compile(r"[-_. ]")
_ALL_MARKS = re.compile(r"[\W_]+")


def haystack(members: Sequence[Segment]) -> tuple[str, str]:
    """Return the text that is searched: titles and ids; titles without punctuation."""
    titles = [member.title.casefold() for member in members if member.title]
    ids = [member.id.casefold() for member in members]
    return "\0".join((*titles, *ids)), "\0".join(_TITLE_MARKS.sub("", title) for title in titles)


class Needle:
    """A text to find; ``tripplan`` finds “Trip plan”."""

    def __init__(self, text: str) -> None:
        self._text = text.strip().casefold()
        self._bare = _ALL_MARKS.sub("", self._text)
        texts = (self._text, self._bare) if self._bare else (self._text,)
        self._encoded = [each.encode("utf-8", "surrogatepass") for each in texts]

    def may_be_in(self, raw: bytes) -> bool:
        """Return False if UTF-8 that contains the texts of many lines shows that none matches."""
        return any(each in raw for each in self._encoded)

    def found_in(self, hay: tuple[str, str]) -> bool:
        """Return whether the text is found."""
        return self._text in hay[0] or (bool(self._bare) and self._bare in hay[1])


def nearest(needle: str, members: Iterable[Segment]) -> int:
    """Return how well the best id matches: 0 equals the text, 1 begins with it, 2 contains it.

    Args:
        needle: The text, casefolded.
        members: The sessions of a line; at least one.
    """
    ids = [member.id.casefold() for member in members]
    if needle in ids:
        return 0
    return 1 if any(each.startswith(needle) for each in ids) else 2


_CHUNK = 200
FIRST_LOOK = 1_000
"""How many of the newest messages are read first; four times as many in each further step."""
_MOST_SESSIONS = 2_000
"""With more sessions than this, reading the whole order is faster."""
_BLOCK, _BLOCKS_KEPT = 4_096, 16
_SHORT_RANGE = 50_000


class NewestTimes:
    """Upper bounds of the times of older messages, kept while a file is open. Thread-safe.

    A bound stays true while the file is the same: the time of a stored message does not change, and
    a deletion only lowers the truth. Messages that are restored under their old row ids are about
    as old as their neighbors, which the bound covers.
    """

    def __init__(self) -> None:
        self._newest: dict[int, float] = {}
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget all bounds, because the path leads to another file now."""
        with self._lock:
            self._newest.clear()

    def before(self, conn: sqlite3.Connection, row_id: int) -> float:
        """Return the newest time of the messages below a row id, as stored; infinite if odd."""
        block = row_id - row_id % _BLOCK
        with self._lock:
            start = max((each for each in self._newest if each <= block), default=0)
            newest = self._newest.get(start, -math.inf)
        if start < block:
            newest = max(newest, _newest_time(conn, start, block))
            with self._lock:
                self._newest[block] = newest
                while len(self._newest) > _BLOCKS_KEPT:
                    del self._newest[min(self._newest)]
        return max(newest, _newest_time(conn, block, row_id))


def _newest_time(conn: sqlite3.Connection, low: int, high: int) -> float:
    """Return the newest time of a range of messages; -infinity for none, infinity for an odd one.

    A short range is read by row id, a long one from the index, which has fewer pages.
    """
    column = "id" if high - low <= _SHORT_RANGE else "+id"
    row = conn.execute(
        f"SELECT max(timestamp) FROM messages WHERE {column} >= ? AND {column} < ?", (low, high)
    ).fetchone()
    if row[0] is None:
        return -math.inf
    return row[0] if isinstance(row[0], int | float) else math.inf


def list_keys(
    conn: sqlite3.Connection, choice: ListFilter, layout: FileLayout, times: NewestTimes
) -> list[tuple[str, str]]:
    """Return the lines as pairs: id of the row the line represents, id of the row it shows."""
    if choice.order_by_last_active and not (choice.search_query or choice.id_query):
        found = newest_keys(conn, choice, layout, times)
        if found is not None:
            return found
    if choice.order_by_last_active or choice.search_by_start or _has_odd_starts(conn):
        return _keys_from_lines(conn, choice, layout)
    condition, values = where(choice, layout)
    rows = conn.execute(
        "SELECT s.id, s.end_reason FROM sessions AS s "
        f"WHERE {condition} ORDER BY s.started_at DESC LIMIT ? OFFSET ?",
        (*values, -1 if choice.limit is None else choice.limit, choice.offset),
    ).fetchall()
    return [
        (row[0], lineage.compression_tip(conn, row[0]))
        if choice.projects and row[1] == "compression"
        else (row[0], row[0])
        for row in rows
    ]


def _keys_from_lines(
    conn: sqlite3.Connection, choice: ListFilter, layout: FileLayout
) -> list[tuple[str, str]]:
    chains = Chains.load(conn)
    every = load_lines(conn, choice, layout, lambda _: chains)
    lines = [line for line in every if _fits(line, choice)]
    by_activity = choice.order_by_last_active
    lines.sort(key=lambda line: line.order if by_activity else line.order[1:], reverse=True)
    if choice.id_query:
        needle = choice.id_query.casefold()
        lines.sort(key=lambda line: nearest(needle, line.members))
    stop = None if choice.limit is None else choice.offset + choice.limit
    return [
        (line.root.id, line.tip_id if choice.projects else line.root.id)
        for line in lines[choice.offset : stop]
    ]


def _fits(line: Line, choice: ListFilter) -> bool:
    if choice.id_query:
        needle = choice.id_query.casefold()
        if not any(needle in member.id.casefold() for member in line.members):
            return False
    return not choice.search_query or Needle(choice.search_query).found_in(haystack(line.members))


def newest_keys(
    conn: sqlite3.Connection,
    choice: ListFilter,
    layout: FileLayout,
    times: NewestTimes,
    *,
    first_look: int = FIRST_LOOK,
) -> list[tuple[str, str]] | None:
    """Return the lines with the latest activity as pairs of root and tip.

    Args:
        conn: Connection for reading.
        choice: The filter; its order is by activity, and it has a limit and no text to search.
        layout: The tables of the file.
        times: The bounds found so far.
        first_look: How many messages are read first.

    Returns:
        None where reading the whole order is faster or necessary.
    """
    if choice.limit is None or choice.empty or choice.include_children or _has_odd_starts(conn):
        return None
    wanted = choice.offset + choice.limit
    lines: dict[str, Line] = {}
    for oldest, names in _written_last(conn, first_look):
        _add(conn, lines, names, choice, layout)
        if len(lines) >= wanted > 0:
            edge = sorted((line.last_active for line in lines.values()), reverse=True)[wanted - 1]
            if times.before(conn, oldest) < edge:
                _add(conn, lines, _started_since(conn, edge), choice, layout)
                shown = sorted(lines.values(), key=lambda line: line.order, reverse=True)
                return [
                    (line.root.id, line.tip_id if choice.projects else line.root.id)
                    for line in shown[choice.offset : wanted]
                ]
    return None


def _written_last(
    conn: sqlite3.Connection, first_look: int
) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield the least row id read and the sessions found in each step."""
    edge, step, seen = 2**63 - 1, first_look, 0
    while seen <= _MOST_SESSIONS:
        rows = conn.execute(
            "SELECT session_id, min(id) FROM (SELECT session_id, id FROM messages "
            "WHERE id < ? ORDER BY id DESC LIMIT ?) GROUP BY session_id",
            (edge, step),
        ).fetchall()
        if not rows:
            return
        edge, step, seen = min(row[1] for row in rows), step * 4, seen + len(rows)
        yield edge, frozenset(row[0] for row in rows)


def _started_since(conn: sqlite3.Connection, moment: float) -> list[str]:
    rows = conn.execute("SELECT id FROM sessions WHERE started_at >= ?", (moment,)).fetchall()
    return [row[0] for row in rows]


def _add(
    conn: sqlite3.Connection,
    lines: dict[str, Line],
    names: Iterable[str],
    choice: ListFilter,
    layout: FileLayout,
) -> None:
    roots = conversation_roots(conn, names, choice.source).difference(lines)
    lines.update((line.root.id, line) for line in lines_of(conn, roots, choice, layout))


def _has_odd_starts(conn: sqlite3.Connection) -> bool:
    """Return whether a start is not a number of seconds, so that SQL would sort it wrongly."""
    odd = "SELECT 1 FROM sessions WHERE started_at > ? LIMIT 1"
    return conn.execute(odd, (LATEST_SECONDS,)).fetchone() is not None


def conversation_roots(
    conn: sqlite3.Connection, names: Iterable[str], source: str | None = None
) -> set[str]:
    """Return the oldest segments of the conversations that these sessions belong to.

    Args:
        conn: Connection for reading.
        names: The sessions; those without a row are left out.
        source: Leave out conversations that began in another one.
    """
    roots: set[str] = set()
    for chunk in chunks([clean_text(name) for name in names]):
        rows = conn.execute(
            "SELECT id, parent_session_id IS NULL, source FROM sessions "
            f"WHERE id IN ({marks(chunk)})",
            chunk,
        ).fetchall()
        for name, is_root, began in rows:
            if not is_root:
                roots.add([name, *lineage.compression_ancestors(conn, name)][-1])
            elif source is None or began == source:
                roots.add(name)
    return roots


def lines_of(
    conn: sqlite3.Connection, roots: Collection[str], choice: ListFilter, layout: FileLayout
) -> list[Line]:
    """Return the lines of these roots that pass the filter, unordered."""
    found: list[Line] = []
    wanted = list(roots)
    for start in range(0, len(wanted), _CHUNK):
        some = replace(choice, ids=wanted[start : start + _CHUNK])
        found += load_lines(conn, some, layout, functools.partial(chains_below, conn))
    return found


def chains_below(conn: sqlite3.Connection, root: Segment) -> Chains:
    """Read the continuations of one session."""
    return Chains.load(conn, below=root.id)


_SUMMARY_COLUMNS = tuple(
    name
    for name in SessionSummary.__dataclass_fields__
    if name not in {"root_id", "preview", "last_active", "pinned"}
)


def summaries(
    conn: sqlite3.Connection, keys: Collection[tuple[str, str]], own_pins: Collection[str] = ()
) -> dict[str, SessionSummary]:
    """Return lines by the id they show. A pair with a missing row is left out.

    ``own_pins`` are the sessions that are pinned in desktop.db.
    """
    shared = ("pinned",) if pins.has_column(conn) else ()
    rows = rich_rows(conn, {name for key in keys for name in key}, (*_SUMMARY_COLUMNS, *shared))

    def line(root: str, tip: str) -> SessionSummary:
        pinned = any(each in own_pins or rows[each].get("pinned") for each in (root, tip))
        return _summary(project(rows[root], rows[tip]), root, pinned=pinned)

    return {tip: line(root, tip) for root, tip in keys if root in rows and tip in rows}


_SUMMARY_COUNTS = ("message_count", "tool_call_count", "input_tokens", "output_tokens")
_SUMMARY_OTHERS = {*_SUMMARY_COUNTS, "id", "archived", "started_at", "ended_at"}
_SUMMARY_TEXTS = tuple(name for name in _SUMMARY_COLUMNS if name not in _SUMMARY_OTHERS)


def _summary(row: SessionRow, root_id: str, *, pinned: bool) -> SessionSummary:
    values = {name: row[name] for name in _SUMMARY_COLUMNS}
    values.update({name: as_count(values[name]) for name in _SUMMARY_COUNTS})
    values.update({name: as_text(values[name]) for name in _SUMMARY_TEXTS})
    values["title"] = as_title(values["title"])
    values["archived"] = bool(values["archived"])
    values["started_at"] = as_seconds(values["started_at"])
    if values["ended_at"] is not None:
        values["ended_at"] = as_seconds(values["ended_at"])
    active = as_seconds(row["last_active"], values["started_at"])
    return SessionSummary(
        **values, root_id=root_id, preview=row["preview"], last_active=active, pinned=pinned
    )


def list_summaries(
    conn: sqlite3.Connection,
    choice: ListFilter,
    layout: FileLayout,
    times: NewestTimes,
    own_pins: Collection[str] = (),
) -> list[SessionSummary]:
    """Return the lines as records; a search text works in either order."""
    keys = list_keys(conn, choice, layout, times)
    found = summaries(conn, keys, own_pins)
    return [found[tip] for _, tip in keys if tip in found]


def list_rich(
    conn: sqlite3.Connection, choice: ListFilter, layout: FileLayout, times: NewestTimes
) -> list[SessionRow]:
    """Return the lines as rows with ``preview``, ``last_active`` and a chain's tip fields."""
    keys = list_keys(conn, choice, layout, times)
    wanted = {name for key in keys for name in key}
    columns = all_columns(layout)
    if choice.compact_rows:
        columns.remove("system_prompt")
    rows = rich_rows(conn, wanted, columns)
    return [project(rows[root], rows[tip]) for root, tip in keys]
