"""The list of conversations: which rows are shown, in which order, with which extra fields.

A chain of compressed sessions is one line. It represents the oldest row and shows the newest:
filters apply to the oldest; title, preview and counts come from the newest.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from hermes_desktop.state.database.schema import SESSIONS, FileLayout
from hermes_desktop.state.records.content_codec import clean_text, preview_of
from hermes_desktop.state.records.records import SessionRow
from hermes_desktop.state.records.stored_rows import marks
from hermes_desktop.state.records.stored_values import as_text, seconds_sql
from hermes_desktop.state.records.transcript_rows import is_dialog_sql
from hermes_desktop.state.sessions import lineage
from hermes_desktop.state.sessions.lineage import SEGMENT_COLUMNS, Chains, Segment, segment

_CHUNK = 200
_LATEST = 500
"""How many sessions are searched for recent folders."""
_FROM_TIP = (
    "id",
    "ended_at",
    "end_reason",
    "message_count",
    "tool_call_count",
    "title",
    "last_active",
    "preview",
    "model",
    "system_prompt",
    "cwd",
    "git_branch",
    "git_repo_root",
)


class ListOptions(TypedDict, total=False):
    """The options of ``list_sessions_rich``; the defaults are those of ListFilter."""

    exclude_sources: Sequence[str] | None
    cwd_prefix: str | None
    limit: int | None
    offset: int
    include_children: bool
    min_message_count: int
    project_compression_tips: bool
    order_by_last_active: bool
    include_archived: bool
    archived_only: bool
    id_query: str | None
    search_query: str | None
    compact_rows: bool


@dataclass(frozen=True, slots=True)
class ListFilter:
    """The filter, limit and order of the session list.

    Attributes:
        limit: Maximum number of lines; None for all.
        empty: True for sessions without messages only, False for those with, None for both.
        id_query: Part of the id of any segment, the best match first; only together with
            ``order_by_last_active``.
        search_query: Part of title or id of any segment, as above; punctuation is ignored.
        ids: Only these roots; None for all.
        search_by_start: Search while ordering by start, which ``list_sessions_rich`` never does.
        compact_rows: Leave out the system prompt, which can be tens of kilobytes per row.
    """

    source: str | None = None
    exclude_sources: Sequence[str] | None = ()
    cwd_prefix: str | None = None
    limit: int | None = 20
    offset: int = 0
    include_children: bool = False
    min_message_count: int = 0
    project_compression_tips: bool = True
    order_by_last_active: bool = False
    include_archived: bool = False
    archived_only: bool = False
    id_query: str | None = None
    search_query: str | None = None
    compact_rows: bool = False
    empty: bool | None = None
    ids: Collection[str] | None = None
    search_by_start: bool = False

    @property
    def projects(self) -> bool:
        """Whether chains are folded; if all children are listed, each has its own line."""
        return self.project_compression_tips and not self.include_children


def where(choice: ListFilter, layout: FileLayout) -> tuple[str, list[Any]]:
    """Return the condition on the row ``s``, with its values."""
    parts = _visible(choice, layout)
    values: list[Any] = []

    def add(condition: str, *more: Any) -> None:
        parts.append(condition)
        values.extend(clean_text(value) if isinstance(value, str) else value for value in more)

    if choice.min_message_count > 0:
        add("s.message_count >= ?", choice.min_message_count)
    if choice.empty is not None:
        add(f"coalesce(s.message_count, 0) {'=' if choice.empty else '<>'} 0")
    if choice.source is not None:
        add("s.source = ?", choice.source)
    if choice.exclude_sources:
        add(f"s.source NOT IN ({marks(choice.exclude_sources)})", *choice.exclude_sources)
    if choice.ids is not None:
        add(f"s.id IN ({marks(choice.ids)})", *choice.ids)
    if choice.cwd_prefix:
        prefix = choice.cwd_prefix.rstrip("/\\")
        add("(s.cwd = ? OR s.cwd LIKE ? OR s.cwd LIKE ?)", prefix, prefix + "/%", prefix + "\\%")
    return " AND ".join(parts) or "1", values


def _visible(choice: ListFilter, layout: FileLayout) -> list[str]:
    """Return conditions without values: no continuations, subagents, hidden or archived rows."""
    parts: list[str] = []
    if not choice.include_children:
        parts.append(f"(s.parent_session_id IS NULL OR {lineage.is_branch_sql('s')})")
        parts.append(f"{lineage.marker('_delegate_from', 's')} IS NULL")
    if "hidden" in layout.columns["sessions"]:
        parts.append("coalesce(s.hidden, 0) = 0")
    if choice.archived_only or not choice.include_archived:
        parts.append(f"coalesce(s.archived, 0) = {int(choice.archived_only)}")
    return parts


def count(conn: sqlite3.Connection, choice: ListFilter, layout: FileLayout) -> int:
    """Return how many rows pass the filter, regardless of limit and offset."""
    condition, values = where(choice, layout)
    row = conn.execute(f"SELECT count(*) FROM sessions AS s WHERE {condition}", values).fetchone()
    return int(row[0])


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the list before its text is read.

    Attributes:
        members: Every session that the line covers, forks included.
        last_active: Epoch seconds of the latest message in any of them.
        archived: Whether it is archived, according to its oldest row.
    """

    root: Segment
    tip_id: str
    members: tuple[Segment, ...]
    last_active: float
    source: str
    archived: bool = False

    @property
    def order(self) -> tuple[float, float, str]:
        """The sort key; descending order gives the newest activity first."""
        return self.last_active, self.root.started_at, self.root.id


def load_lines(
    conn: sqlite3.Connection,
    choice: ListFilter,
    layout: FileLayout,
    chains: Callable[[Segment], Chains],
) -> Iterator[Line]:
    """Yield all lines that pass the filter on their root, unordered; no limit is applied."""
    condition, values = where(choice, layout)
    cursor = conn.cursor()
    cursor.row_factory = None
    rows = cursor.execute(
        f"SELECT {SEGMENT_COLUMNS}, s.source, coalesce(s.archived, 0) <> 0 "
        f"FROM sessions AS s WHERE {condition}",
        values,
    )
    for row in rows:
        root, source, archived = segment(row), as_text(row[8]) or "", bool(row[9])
        if not root.is_compressed:
            yield Line(root, root.id, (root,), root.last_active, source, archived)
            continue
        found = chains(root)
        members = tuple(found.all_below(root))
        newest = max(member.last_active for member in members)
        yield Line(root, found.forward(root)[-1].id, members, newest, source, archived)


def all_columns(layout: FileLayout) -> list[str]:
    """Return every column a query on ``sessions`` may name: those of schema 22, then later ones."""
    known = [column.name for column in SESSIONS]
    return known + sorted(layout.columns["sessions"].difference(known))


_PREVIEW = f"""
(SELECT CASE WHEN substr(u.content, 1, 63) = '' THEN u.content ELSE substr(u.content, 1, 63) END
 FROM messages AS u WHERE u.session_id = s.id AND u.role = 'user' AND u.content IS NOT NULL
 AND {is_dialog_sql("u")}
 ORDER BY u.timestamp, u.id LIMIT 1)
"""

_LAST_ACTIVE = (
    "coalesce((SELECT max(m.timestamp) FROM messages AS m WHERE m.session_id = s.id), s.started_at)"
)


def rich_rows(
    conn: sqlite3.Connection, ids: Collection[str], columns: Iterable[str]
) -> dict[str, SessionRow]:
    """Return rows by id with ``preview`` and ``last_active``; ids without a row are left out."""
    names = ", ".join(f's."{name}"' for name in columns)
    wanted = [clean_text(name) for name in ids]
    found: dict[str, SessionRow] = {}
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        for row in conn.execute(
            f"SELECT {names}, {_LAST_ACTIVE} AS last_active, {_PREVIEW} AS preview "
            f"FROM sessions AS s WHERE s.id IN ({marks(chunk)})",
            chunk,
        ).fetchall():
            values = dict(row)
            values["preview"] = preview_of(values["preview"])
            found[values["id"]] = values
    return found


def project(root: SessionRow, tip: SessionRow) -> SessionRow:
    """Return the line of a chain: the root's fields, replaced where the tip's are shown."""
    if root["id"] == tip["id"]:
        return root
    moved = {name: tip[name] for name in _FROM_TIP if name in tip}
    return {**root, **moved, "_lineage_root_id": root["id"]}


def runs_of_job(
    conn: sqlite3.Connection, job_id: str, layout: FileLayout, *, limit: int, offset: int
) -> list[SessionRow]:
    """Return the sessions of a scheduled job (case-sensitive), the latest start first."""
    prefix = clean_text(f"cron_{job_id}_")
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    found = conn.execute(
        "SELECT id FROM sessions WHERE id >= ? AND id < ? AND source = 'cron' "
        "ORDER BY started_at DESC, id DESC LIMIT ? OFFSET ?",
        (prefix, after, limit, offset),
    ).fetchall()
    rows = rich_rows(conn, [row[0] for row in found], all_columns(layout))
    return [rows[row[0]] for row in found]


def recent_rows(
    conn: sqlite3.Connection, source: str | None, limit: int, offset: int
) -> list[SessionRow]:
    """Return all rows, children and archived ones too, the latest activity first."""
    condition = "" if source is None else "WHERE s.source = ?"
    values = () if source is None else (clean_text(source),)
    rows = conn.execute(
        f"SELECT s.*, {_LAST_ACTIVE} AS last_active FROM sessions AS s {condition} "
        f"ORDER BY {seconds_sql('last_active')} DESC, s.started_at DESC, s.id DESC "
        "LIMIT ? OFFSET ?",
        (*values, limit, offset),
    ).fetchall()
    return [dict(row) for row in rows]


def recent_folders(conn: sqlite3.Connection, limit: int) -> list[str]:
    """Return the different working folders of the latest sessions, the latest first."""
    rows = conn.execute(
        "SELECT cwd, max(started_at) AS latest FROM "
        "(SELECT cwd, started_at FROM sessions ORDER BY started_at DESC LIMIT ?) "
        "WHERE cwd <> '' GROUP BY cwd ORDER BY latest DESC LIMIT ?",
        (_LATEST, limit),
    ).fetchall()
    return [str(as_text(row[0])) for row in rows]
