"""Tokens and costs: totals in the session's row, shares per model in ``session_model_usage``.

The current size of a session's context is read here, too.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop.core.usage import ModelUsage
from hermes_desktop.state.database.schema import COMPOUND_KEYS
from hermes_desktop.state.records.content_codec import bindable, clean_text
from hermes_desktop.state.sessions import sessions_table

_COUNTERS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "api_call_count",
)
_STATED = ("cost_status", "cost_source", "pricing_version")
_ROUTE = ("billing_provider", "billing_base_url", "billing_mode")
_KEY = COMPOUND_KEYS["session_model_usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of one call (or, as totals, of all calls so far). Costs in US dollars."""

    input_tokens: int = 0
    output_tokens: int = 0
    model: str | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    estimated_cost_usd: float | None = None
    actual_cost_usd: float | None = None
    cost_status: str | None = None
    cost_source: str | None = None
    pricing_version: str | None = None
    billing_provider: str | None = None
    billing_base_url: str | None = None
    billing_mode: str | None = None
    api_call_count: int = 0

    @property
    def is_something(self) -> bool:
        """Whether anything was used; a call may only name model and route."""
        amounts = (*_COUNTERS, "estimated_cost_usd", "actual_cost_usd")
        return any(getattr(self, name) for name in amounts)


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """The options for recording usage.

    Attributes:
        now: Epoch seconds.
        absolute: The figures are totals, not one call's.
        only_existing: A session without a row (deleted in the meantime, for example) gets none.
        shares: Whether the file's usage table may be written.
    """

    now: float
    absolute: bool = False
    only_existing: bool = False
    shares: bool = True


def update(
    conn: sqlite3.Connection, session_id: str, usage: Usage, booking: RecordingOptions
) -> bool:
    """Add one call's usage to a session, or set its totals. False: it has no row."""
    session_id = clean_text(session_id)
    if not _has_row(conn, session_id, booking):
        return False
    _settle_route(conn, session_id, usage)
    _update_totals(conn, session_id, usage, absolute=booking.absolute)
    if booking.shares and not booking.absolute and usage.is_something:
        row = conn.execute(
            f"SELECT model, {', '.join(_ROUTE)} FROM sessions WHERE id = ?", (session_id,)
        ).fetchone()
        model = bindable(usage.model) or row["model"] or "unknown"
        route = (bindable(getattr(usage, name)) or row[name] or "" for name in _ROUTE)
        _add_share(conn, (session_id, model, *route, ""), usage, booking.now)
    return True


def add_auxiliary(
    conn: sqlite3.Connection, session_id: str, task: str, usage: Usage, booking: RecordingOptions
) -> bool:
    """Record a side task (title, summary, image analysis) outside the session's totals.

    Returns:
        False when nothing was recorded: no row, or a usage table that this program may not write.
    """
    session_id = clean_text(session_id)
    if not booking.shares or not _has_row(conn, session_id, booking):
        return False
    route = (bindable(getattr(usage, name)) or "" for name in _ROUTE)
    key = (session_id, bindable(usage.model) or "unknown", *route, clean_text(task))
    _add_share(conn, key, usage, booking.now)
    return True


def _has_row(conn: sqlite3.Connection, session_id: str, booking: RecordingOptions) -> bool:
    if not booking.only_existing:
        sessions_table.insert(conn, session_id, "unknown", booking.now, {})
        return True
    return sessions_table.exists(conn, session_id)


def _settle_route(conn: sqlite3.Connection, session_id: str, usage: Usage) -> None:
    """Fill in model and route where unknown.

    Until a call has been counted they are only planned: usage that names another model or provider
    replaces all of them, so that no address of the planned provider stays with the real one.
    """
    row = conn.execute(
        "SELECT model, api_call_count, billing_provider FROM sessions WHERE id = ?", (session_id,)
    ).fetchone()
    given = bool(usage.model and usage.billing_provider)
    differs = (row["model"], row["billing_provider"]) != (usage.model, usage.billing_provider)
    replaces = given and not row["api_call_count"] and differs
    form = "{0} = ?" if replaces else "{0} = coalesce({0}, ?)"
    names = ("model", *_ROUTE)
    conn.execute(
        f"UPDATE sessions SET {', '.join(form.format(name) for name in names)} WHERE id = ?",
        (*(bindable(getattr(usage, name)) for name in names), session_id),
    )


def _update_totals(
    conn: sqlite3.Connection, session_id: str, usage: Usage, *, absolute: bool
) -> None:
    counter = "{0} = ?" if absolute else "{0} = coalesce({0}, 0) + ?"
    parts = [counter.format(name) for name in _COUNTERS]
    values: list[object] = [getattr(usage, name) for name in _COUNTERS]
    parts.append(counter.format("estimated_cost_usd"))
    values.append(usage.estimated_cost_usd or 0.0)
    if usage.actual_cost_usd is not None:
        parts.append(counter.format("actual_cost_usd"))
        values.append(usage.actual_cost_usd)
    for name in _STATED:
        parts.append(f"{name} = coalesce(?, {name})")
        values.append(bindable(getattr(usage, name)))
    conn.execute(f"UPDATE sessions SET {', '.join(parts)} WHERE id = ?", (*values, session_id))


def _add_share(conn: sqlite3.Connection, key: tuple[str, ...], usage: Usage, now: float) -> None:
    amounts = (*_COUNTERS, "estimated_cost_usd", "actual_cost_usd")
    columns = (*_KEY, *amounts, "cost_status", "cost_source", "first_seen", "last_seen")
    added = ", ".join(f"{name} = {name} + excluded.{name}" for name in amounts)
    conn.execute(
        f"INSERT INTO session_model_usage ({', '.join(columns)}) "
        f"VALUES ({', '.join('?' * len(columns))}) "
        f"ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET {added}, "
        "cost_status = coalesce(excluded.cost_status, cost_status), "
        "cost_source = coalesce(excluded.cost_source, cost_source), "
        "last_seen = excluded.last_seen",
        (
            *key,
            *(getattr(usage, name) or 0 for name in amounts),
            bindable(usage.cost_status),
            bindable(usage.cost_source),
            now,
            now,
        ),
    )


_SHARES_SQL = """
SELECT model, billing_provider, task, api_call_count, input_tokens, output_tokens,
       cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_status,
       actual_cost_usd, estimated_cost_usd
FROM session_model_usage WHERE session_id = ?
"""
_TOTALS_SQL = """
SELECT COALESCE(model, ''), COALESCE(billing_provider, ''), '', api_call_count, input_tokens,
       output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_status,
       actual_cost_usd, estimated_cost_usd
FROM sessions WHERE id = ?
"""
_SIZE_SQL = """
SELECT COUNT(*),
       SUM(LENGTH(CAST(COALESCE(content, '') AS BLOB))
           + LENGTH(CAST(COALESCE(tool_calls, '') AS BLOB)))
FROM messages WHERE session_id = ? AND active = 1
"""
_NEEDED_COLUMNS = frozenset({"task", "cost_status", "actual_cost_usd", "reasoning_tokens"})


@dataclass(frozen=True, slots=True)
class ContextSize:
    """The size of a session's context for the model: messages, and bytes of their text."""

    messages: int
    text_bytes: int


def usage_by_model(conn: sqlite3.Connection, session_ids: Sequence[str]) -> tuple[ModelUsage, ...]:
    """Return usage by model, provider and task; the largest first.

    Sessions without shares, as in older files, count with their totals.
    """
    has_shares = _has_shares(conn)
    found: dict[tuple[str, str, str], ModelUsage] = {}
    for session_id in session_ids:
        rows = conn.execute(_SHARES_SQL, (session_id,)).fetchall() if has_shares else []
        for row in rows or conn.execute(_TOTALS_SQL, (session_id,)).fetchall():
            share = _read(tuple(row))
            if share.calls or share.tokens:
                key = (share.model, share.provider, share.task)
                found[key] = _together(found[key], share) if key in found else share
    return tuple(sorted(found.values(), key=lambda each: -each.tokens))


def context_size(conn: sqlite3.Connection, session_id: str) -> ContextSize:
    """Return the size of a session's context for the model, without its system prompt."""
    count, text = conn.execute(_SIZE_SQL, (session_id,)).fetchone()
    return ContextSize(int(count or 0), int(text or 0))


def _has_shares(conn: sqlite3.Connection) -> bool:
    info = conn.execute("PRAGMA table_info(session_model_usage)").fetchall()
    return {row[1] for row in info} >= _NEEDED_COLUMNS


def _read(row: tuple[object, ...]) -> ModelUsage:
    model, provider, task, *counts, status, actual, estimated = row
    calls, fresh, written, from_cache, to_cache, thought = (
        int(each) if isinstance(each, int | float) else 0 for each in counts
    )
    cost, guessed = _cost(status, actual, estimated)
    counted = (calls, fresh, written, from_cache, to_cache, thought)
    partial = cost is not None and status == "unknown"  # the status of the latest call
    return ModelUsage(str(model), str(provider), str(task), *counted, cost, guessed, partial)


def _cost(status: object, actual: object, estimated: object) -> tuple[float | None, bool]:
    if isinstance(actual, int | float) and (actual > 0 or status == "actual"):
        return float(actual), False
    if isinstance(estimated, int | float) and (estimated > 0 or status == "estimated"):
        return float(estimated), True
    return (0.0 if status == "included" else None), False


def _together(one: ModelUsage, other: ModelUsage) -> ModelUsage:
    costs = [each for each in (one.cost_usd, other.cost_usd) if each is not None]
    return ModelUsage(
        one.model,
        one.provider,
        one.task,
        one.calls + other.calls,
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cache_read_tokens + other.cache_read_tokens,
        one.cache_write_tokens + other.cache_write_tokens,
        one.reasoning_tokens + other.reasoning_tokens,
        sum(costs) if costs else None,
        one.cost_estimated or other.cost_estimated,
        len(costs) == 1 or one.cost_partial or other.cost_partial,
    )
