"""Usage of the conversations of the last days: by model, platform, tool and day.

Counted as by ``hermes insights``: sessions by their start, archived ones and subagents included;
messages and tool calls by the sessions' own counters; models by their shares; tools by the calls in
the messages. Long reads are split into steps, so that they can be cancelled in between.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from hermes_desktop.core.errors import CancelledError
from hermes_desktop.state.records.cancellation import CancelSignal, StoppedError, stop_if, stoppable
from hermes_desktop.state.records.stored_values import seconds_sql, total_sql

T = TypeVar("T")

_SESSIONS_A_STEP = 400
_WHAT = "Counting"
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_COUNTED = ("message_count", "tool_call_count", "api_call_count", *_TOKENS, "reasoning_tokens")
_BEGUN = seconds_sql("started_at")


class Reader(Protocol):
    """The interface of the data source; implemented by :class:`~hermes_desktop.state.SessionDB`."""

    def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query."""
        ...


@dataclass(frozen=True, slots=True)
class Used:
    """The usage of a group of sessions.

    Attributes:
        cost_usd: As far as it is known.
        unpriced: How many sessions called a model whose price was not reported, or only in part.
    """

    name: str
    sessions: int = 0
    messages: int = 0
    tool_calls: int = 0
    api_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, those from a cache included."""
        cached = self.cache_read_tokens + self.cache_write_tokens
        return self.input_tokens + self.output_tokens + cached


@dataclass(frozen=True, slots=True)
class Insights:
    """The figures of a period of days. Times in epoch seconds.

    Attributes:
        total: Of everything.
        user_messages: Number of messages that users wrote.
        models: Those with any usage, the most tokens first.
        platforms: The most sessions first.
        tools: Name and number of calls, the most first.
        days: In order; ``name`` is the date here.
    """

    days_asked: int
    source: str | None
    since: float
    until: float
    total: Used
    user_messages: int
    models: tuple[Used, ...]
    platforms: tuple[Used, ...]
    tools: tuple[tuple[str, int], ...]
    days: tuple[Used, ...] = field(default=())

    @property
    def side_tokens(self) -> int:
        """Tokens of titles, summaries and the like, which count for models but in no totals."""
        return max(0, sum(each.tokens for each in self.models) - self.total.tokens)


def insights(
    db: Reader,
    days: int,
    *,
    now: float,
    source: str | None = None,
    cancel: CancelSignal | None = None,
) -> Insights:
    """Count the sessions that were started in the last days. Blocking, seconds in a large store.

    Args:
        db: The store.
        days: How many.
        now: The present, in epoch seconds.
        source: Only those of one source.
        cancel: Cancels it within milliseconds.

    Raises:
        CancelledError: It was cancelled.
        StateError: The store cannot be read.
    """
    since = now - days * 86_400.0
    where = f"{_BEGUN} >= ?" + (" AND source = ?" if source is not None else "")
    args: tuple[Any, ...] = (since,) if source is None else (since, source)

    def ask(fn: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return db.read(lambda conn: stoppable(conn, fn, cancel))
        except StoppedError:
            raise CancelledError(f"{_WHAT} was cancelled.", "Nothing was changed.") from None

    groups = ask(lambda conn: _groups(conn, where, args))
    ids = ask(lambda conn: [row[0] for row in conn.execute(_ids(where), args)])
    said, tools = _messages(ask, ids, cancel)
    return Insights(
        days_asked=days,
        source=source,
        since=since,
        until=now,
        total=_summed("all", groups),
        user_messages=said,
        models=ask(lambda conn: _models(conn, where, args)),
        platforms=_by(groups, 0, lambda used: (-used.sessions, used.name)),
        tools=tuple(sorted(tools.items(), key=lambda pair: (-pair[1], pair[0]))),
        days=_by(groups, 1, lambda used: used.name),
    )


_Group = tuple[str, str, Used]


def _ids(where: str) -> str:
    return f"SELECT id FROM sessions WHERE {where} ORDER BY started_at"


def _groups(conn: sqlite3.Connection, where: str, args: Sequence[Any]) -> list[_Group]:
    """Return the sessions by platform and day, counted."""
    sums = ", ".join(map(total_sql, _COUNTED))
    actual, guessed = "coalesce(actual_cost_usd, 0)", "coalesce(estimated_cost_usd, 0)"
    known = f"CASE WHEN {actual} > 0 THEN {actual} ELSE {guessed} END"
    # With an endpoint that reports no figures at all, a reply has no counted call.
    asked = "(coalesce(api_call_count, 0) > 0 OR coalesce(message_count, 0) > 1)"
    unpriced = f"{asked} AND {_unpriced(known, 'cost_status')}"
    rows = conn.execute(
        f"SELECT source, date({_BEGUN}, 'unixepoch', 'localtime'), count(*), {sums}, "
        f"sum({known}), sum({unpriced}) FROM sessions WHERE {where} GROUP BY 1, 2",
        args,
    )
    return [
        (str(row[0] or "unknown"), str(row[1] or ""), Used(str(row[0] or "unknown"), *row[2:]))
        for row in rows
    ]


def _unpriced(known: str, status: str) -> str:
    """Return a condition: no price was reported, or only in part, according to the latest call."""
    named = f"coalesce({status}, '') IN ('actual', 'included')"
    return f"CASE WHEN {known} > 0 THEN coalesce({status}, '') = 'unknown' ELSE NOT {named} END"


def _models(conn: sqlite3.Connection, where: str, args: Sequence[Any]) -> tuple[Used, ...]:
    """Return the usage of each model: its shares, or, in a file without them, whole sessions."""
    has_shares = conn.execute("PRAGMA table_info(session_model_usage)").fetchall()
    sums = ", ".join(total_sql(f"u.{each}") for each in (*_TOKENS, "reasoning_tokens"))
    table, key = ("session_model_usage", "session_id") if has_shares else ("sessions", "id")
    actual, guessed = "coalesce(u.actual_cost_usd, 0)", "coalesce(u.estimated_cost_usd, 0)"
    known = f"CASE WHEN {actual} > 0 THEN {actual} ELSE {guessed} END"
    rows = conn.execute(
        f"SELECT coalesce(u.model, ''), count(DISTINCT u.{key}), "
        f"{total_sql('u.api_call_count')}, {sums}, sum({known}), "
        f"sum({_unpriced(known, 'u.cost_status')}) "
        f"FROM {table} u WHERE u.{key} IN (SELECT id FROM sessions WHERE {where}) "
        "GROUP BY 1",
        args,
    )
    found = [
        Used(str(row[0] or "unknown"), row[1], 0, 0, row[2], *row[3:10])
        for row in rows
        if row[2] or any(row[3:7])
    ]
    return tuple(sorted(found, key=lambda used: (-used.tokens, used.name)))


def _messages(
    ask: Callable[[Callable[[sqlite3.Connection], Any]], Any],
    ids: Sequence[str],
    cancel: CancelSignal | None,
) -> tuple[int, Counter[str]]:
    """Return the number of user messages and the tool calls, read some sessions at a time."""
    said, tools = 0, Counter[str]()
    for at in range(0, len(ids), _SESSIONS_A_STEP):
        stop_if(cancel, _WHAT)
        some = ids[at : at + _SESSIONS_A_STEP]
        wrote, called = ask(partial(_of_sessions, ids=some))
        said += wrote
        tools.update(called)
    return said, tools


def _of_sessions(conn: sqlite3.Connection, ids: Sequence[str]) -> tuple[int, dict[str, int]]:
    signs = ",".join("?" * len(ids))
    said = conn.execute(
        f"SELECT count(*) FROM messages WHERE session_id IN ({signs}) AND role = 'user'",
        ids,
    ).fetchone()[0]
    called = conn.execute(
        "SELECT coalesce(json_extract(each.value, '$.function.name'), "
        "json_extract(each.value, '$.name'), 'unknown'), count(*) "
        "FROM messages m, json_each(CASE WHEN json_valid(m.tool_calls) "
        "AND json_type(m.tool_calls) = 'array' THEN m.tool_calls ELSE '[]' END) each "
        f"WHERE m.session_id IN ({signs}) AND m.role = 'assistant' AND m.tool_calls IS NOT NULL "
        "AND each.type = 'object' GROUP BY 1",
        ids,
    ).fetchall()
    return int(said), {str(name): int(count) for name, count in called}


def _by(
    groups: Sequence[_Group], field_number: int, order: Callable[[Used], Any]
) -> tuple[Used, ...]:
    named: dict[str, list[_Group]] = {}
    for group in groups:
        named.setdefault(str(group[field_number]), []).append(group)
    found = [_summed(name, some) for name, some in named.items()]
    return tuple(sorted(found, key=order))


def _summed(name: str, groups: Sequence[_Group]) -> Used:
    used = [group[2] for group in groups]
    names = [each for each in Used.__dataclass_fields__ if each != "name"]
    return Used(name, **{each: sum(getattr(one, each) for one in used) for each in names})
