"""Usage of sessions by model, and the current size of a session's context."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop.core.usage import ModelUsage

_SHARES = """
SELECT model, billing_provider, task, api_call_count, input_tokens, output_tokens,
       cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_status,
       actual_cost_usd, estimated_cost_usd
FROM session_model_usage WHERE session_id = ?
"""
_TOTALS = """
SELECT COALESCE(model, ''), COALESCE(billing_provider, ''), '', api_call_count, input_tokens,
       output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_status,
       actual_cost_usd, estimated_cost_usd
FROM sessions WHERE id = ?
"""
_SIZE = """
SELECT COUNT(*),
       SUM(LENGTH(CAST(COALESCE(content, '') AS BLOB))
           + LENGTH(CAST(COALESCE(tool_calls, '') AS BLOB)))
FROM messages WHERE session_id = ? AND active = 1
"""
_NEEDED = frozenset({"task", "cost_status", "actual_cost_usd", "reasoning_tokens"})


@dataclass(frozen=True, slots=True)
class ContextSize:
    """The size of a session's context for the model: messages, and bytes of their text."""

    messages: int
    text_bytes: int


def used(conn: sqlite3.Connection, session_ids: Sequence[str]) -> tuple[ModelUsage, ...]:
    """Return usage by model, provider and task; the largest first.

    Sessions without shares, as in older files, count with their totals.
    """
    has_shares = _has_shares(conn)
    found: dict[tuple[str, str, str], ModelUsage] = {}
    for session_id in session_ids:
        rows = conn.execute(_SHARES, (session_id,)).fetchall() if has_shares else []
        for row in rows or conn.execute(_TOTALS, (session_id,)).fetchall():
            share = _read(tuple(row))
            if share.calls or share.tokens:
                key = (share.model, share.provider, share.task)
                found[key] = _together(found[key], share) if key in found else share
    return tuple(sorted(found.values(), key=lambda each: -each.tokens))


def size(conn: sqlite3.Connection, session_id: str) -> ContextSize:
    """Return the size of a session's context for the model, without its system prompt."""
    count, text = conn.execute(_SIZE, (session_id,)).fetchone()
    return ContextSize(int(count or 0), int(text or 0))


def _has_shares(conn: sqlite3.Connection) -> bool:
    info = conn.execute("PRAGMA table_info(session_model_usage)").fetchall()
    return {row[1] for row in info} >= _NEEDED


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
