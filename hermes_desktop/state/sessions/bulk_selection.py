"""Selection of sessions for bulk operations: one filter and query for preview and execution.

Sessions that meet its conditions but are spared are part of the result.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from hermes_desktop.state.records.content_codec import bindable
from hermes_desktop.state.records.records import SessionRow
from hermes_desktop.state.records.stored_rows import columns
from hermes_desktop.state.records.stored_values import as_count
from hermes_desktop.state.sessions import lineage, pins
from hermes_desktop.state.sessions.transit_rows import NOT_ON_ITS_WAY

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One session that a bulk operation would affect. Times in epoch seconds."""

    id: str
    source: str
    title: str | None
    model: str | None
    started_at: float
    ended_at: float
    message_count: int
    archived: bool

    def as_row(self) -> SessionRow:
        """Return the candidate as a plain dict, ``archived`` as a number."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**row, "archived": int(self.archived)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Conditions that must all hold; None, and "" for a text, means no condition.

    Only sessions that ended are ever selected: an open one may be running in some process.

    Attributes:
        idle_before: Neither started nor used since then, epoch seconds. This is what an age means.
        started_before: Epoch seconds; also ``started_after``.
        source: Exactly as stored.
        title_like: Part of the title, ignoring case; so are ``model_like`` and ``branch_like``.
        end_reason: Exactly; so are ``user_id``, ``chat_id`` and ``chat_type``.
        provider: The billing provider, ignoring case.
        cwd_prefix: A folder; sessions in it and below it.
        min_messages: By the session's own counter; also ``max_messages`` and tool calls.
        min_tokens: Of input and output together; also ``max_tokens``.
        min_cost: US dollars, actual where known, else estimated; also ``max_cost``.
        archived: True for archived ones only, False for the others.
        include_pinned: Include pinned ones. This alone is not a condition.
    """

    idle_before: float | None = None
    started_before: float | None = None
    started_after: float | None = None
    source: str | None = None
    title_like: str | None = None
    model_like: str | None = None
    branch_like: str | None = None
    end_reason: str | None = None
    provider: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    cwd_prefix: str | None = None
    min_messages: int | None = None
    max_messages: int | None = None
    min_tokens: int | None = None
    max_tokens: int | None = None
    min_cost: float | None = None
    max_cost: float | None = None
    min_tool_calls: int | None = None
    max_tool_calls: int | None = None
    archived: bool | None = None
    include_pinned: bool = False

    def __bool__(self) -> bool:
        """Return whether it has any condition."""
        names = (field.name for field in fields(self) if field.name != "include_pinned")
        return any(getattr(self, name) not in {None, ""} for name in names)

    def select(self, conn: sqlite3.Connection) -> list[Candidate]:
        """Return the sessions that meet the conditions, pinned or not, the oldest first."""
        where, values = self.where(conn)
        rows = conn.execute(
            "SELECT s.id, s.source, s.title, s.model, s.started_at, s.ended_at, "
            "coalesce(s.message_count, 0) AS message_count, "
            "coalesce(s.archived, 0) AS archived FROM sessions AS s "
            f"WHERE {where} ORDER BY s.started_at, s.id",
            values,
        ).fetchall()
        return [_candidate(row) for row in rows]

    def where(self, conn: sqlite3.Connection) -> tuple[str, list[Any]]:
        """Return the conditions on the row ``s`` as SQL, with their values; pins are ignored."""
        parts, values = ["s.ended_at IS NOT NULL", NOT_ON_ITS_WAY], []  # type: list[str], list[Any]
        for condition, value in self._conditions():
            parts.append(condition)
            values.append(bindable(value))
        if self.idle_before is not None:
            # The start alone excludes most sessions, and it is a column.
            parts.append(f"s.started_at < ? AND {last_used_sql(conn)} < ?")
            values += [self.idle_before, self.idle_before]
        if self.cwd_prefix:
            folder = _escaped(self.cwd_prefix.rstrip("/\\"))
            parts.append(_IN_FOLDER)
            values += [folder, f"{folder}/%", f"{folder}\\\\%"]
        return " AND ".join(parts), values

    def _conditions(self) -> Iterator[tuple[str, Any]]:
        for name, form, wrap in _FORMS:
            value = getattr(self, name)
            if value is not None and value != "":
                yield form, wrap(value) if wrap is not None else value
        if self.archived is not None:
            yield "coalesce(s.archived, 0) = ?", int(self.archived)


def _candidate(row: sqlite3.Row) -> Candidate:
    count, archived = as_count(row["message_count"]), bool(row["archived"])
    return Candidate(**{**dict(row), "message_count": count, "archived": archived})


def last_used_sql(conn: sqlite3.Connection) -> str:
    """Return an SQL expression for the later of start and last use of the session ``s``.

    A value that is not a number is greater than every number: such a session never counts as old.
    """
    times = [
        "s.started_at",
        "coalesce((SELECT max(m.timestamp) FROM messages AS m WHERE m.session_id = s.id), 0)",
    ]
    if "last_activity_at" in columns(conn, "sessions"):
        times.append("coalesce(s.last_activity_at, 0)")
    return f"max({', '.join(times)})"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _part(text: str) -> str:
    return f"%{_escaped(text)}%"


_IN_FOLDER = "(s.cwd LIKE ? ESCAPE '\\' OR s.cwd LIKE ? ESCAPE '\\' OR s.cwd LIKE ? ESCAPE '\\')"
_TOKENS = "(coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0))"
_COST = "coalesce(s.actual_cost_usd, s.estimated_cost_usd, 0)"
_MESSAGES = "coalesce(s.message_count, 0)"
_CALLS = "coalesce(s.tool_call_count, 0)"

_FORMS: tuple[tuple[str, str, Any], ...] = (
    ("started_before", "s.started_at < ?", None),
    ("started_after", "s.started_at >= ?", None),
    ("source", "s.source = ?", None),
    ("title_like", "s.title LIKE ? ESCAPE '\\'", _part),
    ("model_like", "s.model LIKE ? ESCAPE '\\'", _part),
    ("branch_like", "s.git_branch LIKE ? ESCAPE '\\'", _part),
    ("end_reason", "s.end_reason = ?", None),
    ("provider", "lower(s.billing_provider) = lower(?)", None),
    ("user_id", "s.user_id = ?", None),
    ("chat_id", "s.chat_id = ?", None),
    ("chat_type", "s.chat_type = ?", None),
    ("min_messages", f"{_MESSAGES} >= ?", None),
    ("max_messages", f"{_MESSAGES} <= ?", None),
    ("min_tokens", f"{_TOKENS} >= ?", None),
    ("max_tokens", f"{_TOKENS} <= ?", None),
    ("min_cost", f"{_COST} >= ?", None),
    ("max_cost", f"{_COST} <= ?", None),
    ("min_tool_calls", f"{_CALLS} >= ?", None),
    ("max_tool_calls", f"{_CALLS} <= ?", None),
)


@dataclass(frozen=True, slots=True)
class SparedCounts:
    """Numbers of sessions that a bulk operation spares although the user may not expect it.

    Attributes:
        pinned: They meet the conditions, but are pinned.
        parts: They meet the conditions, but their conversation continues in a session that stays.
        used_since: They started long enough ago, but were used since. `hermes` 0.19 counts from the
            start.
    """

    pinned: int = 0
    parts: int = 0
    used_since: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """The sessions a bulk operation affects, the oldest first, and those it spares.

    Attributes:
        pinned: How many of the affected ones are pinned.
    """

    candidates: tuple[Candidate, ...]
    spared: SparedCounts = field(default_factory=SparedCounts)
    pinned: int = 0


def select(
    conn: sqlite3.Connection,
    choice: SessionFilter,
    own_pins: Collection[str],
    *,
    spare_parts: bool,
) -> Selection:
    """Apply the conditions, then spare pinned sessions and parts of continued conversations.

    Args:
        conn: The shared file.
        choice: The conditions.
        own_pins: Sessions that are pinned in desktop.db.
        spare_parts: Whether a segment stays as long as a later one of its conversation does. An age
            always applies to the whole conversation.
    """
    found = choice.select(conn)
    pinned = pins.pinned_conversations(conn, own_pins)
    met = [each.id for each in found]
    allowed = met if choice.include_pinned else [each for each in met if each not in pinned]
    spare_parts = spare_parts or choice.idle_before is not None
    taken = _without_continued(conn, allowed) if spare_parts else set(allowed)
    spared = SparedCounts(
        pinned=len(met) - len(allowed),
        parts=len(allowed) - len(taken),
        used_since=_count_by_start(conn, choice) - len(met),
    )
    return Selection(tuple(each for each in found if each.id in taken), spared, len(taken & pinned))


def _without_continued(conn: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    """Leave out each segment whose conversation continues in a session that is not taken."""
    taken = set(ids)
    if not taken:
        return taken
    earlier: dict[str, list[str]] = {}
    for child, parent in lineage.continuations(conn):
        earlier.setdefault(child, []).append(parent)
    waiting = [each for each in earlier if each not in taken]
    while waiting:
        for parent in earlier.get(waiting.pop(), ()):
            if parent in taken:
                taken.remove(parent)
                waiting.append(parent)
    return taken


def _count_by_start(conn: sqlite3.Connection, choice: SessionFilter) -> int:
    """Return how many sessions would meet the conditions if their age counted from their start."""
    limits = [each for each in (choice.idle_before, choice.started_before) if each is not None]
    by_start = replace(choice, idle_before=None, started_before=min(limits, default=None))
    where, values = by_start.where(conn)
    row = conn.execute(f"SELECT count(*) FROM sessions AS s WHERE {where}", values).fetchone()
    return int(row[0])
