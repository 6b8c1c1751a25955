"""Periodic expiry of chat sessions, eviction of unused agents and pruning of old entries."""

# ruff: noqa: SLF001 - a part of the runner that stands in a file of its own

import asyncio
import logging
from typing import TYPE_CHECKING

from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.session import SessionEntry
from hermes_desktop.gateway.sessions.session_expiry import prune_due

if TYPE_CHECKING:
    from hermes_desktop.gateway.runner.runner_boundaries import RunnerBoundaries

log = logging.getLogger(__name__)

FIRST_LOOK_S = 60.0
MAX_FAILURES = 3


async def watch(runner: "RunnerBoundaries", interval: float) -> None:
    """Check periodically until the runner stops.

    Args:
        runner: The runner whose chats are checked.
        interval: Seconds between two checks.
    """
    await asyncio.sleep(FIRST_LOOK_S)
    while runner._running:
        try:
            await look(runner)
        except Exception:  # the next check may succeed
            log.exception("Looking for expired conversations failed")
        if interval > 0:
            await asyncio.sleep(interval)


async def look(runner: "RunnerBoundaries") -> None:
    """Check once. A session with a running turn, of any chat, is left for the next check."""
    for session_entry in await runner._aside(_expired, runner):
        busy = runner.is_busy(session_entry.session_key)
        if not busy and not runner._turn_leases.is_held(session_entry.session_id):
            await _expire(runner, session_entry)
    runner._sweep_idle_cached_agents()
    await _prune(runner)


def _expired(runner: "RunnerBoundaries") -> list[SessionEntry]:
    """Return the chats whose sessions have expired and were not processed. Blocks."""
    store = runner.session_store
    store._ensure_loaded()
    with store._lock:
        entries = list(store._entries.values())
    return [
        entry
        for entry in entries
        if not entry.expiry_finalized
        and not entry.is_foreign
        and entry.platform is not Platform.DESKTOP
        and store._is_session_expired(entry)
    ]


async def _expire(runner: "RunnerBoundaries", session_entry: SessionEntry) -> None:
    """Process one; after the third failure in a row it is only marked as processed."""
    session_id, key = session_entry.session_id, session_entry.session_key
    store = runner.session_store
    # A message that arrives now waits until this is done.
    async with runner._turn_order.hold(key):
        present = store._entries.get(key)
        if present is not session_entry or not store._is_session_expired(session_entry):
            return
        try:
            await runner._expire(session_entry)
        except Exception:
            # One chat must not keep the others from being checked.
            failures = runner._expiry_failures[session_id] = (
                runner._expiry_failures.get(session_id, 0) + 1
            )
            log.exception("The end of %s could not be dealt with (%d)", session_id, failures)
            if failures < MAX_FAILURES:
                return
            await runner._aside(
                lambda: store.set_expiry_finalized(session_entry, clear_model_override=False)
            )
        runner._expiry_failures.pop(session_id, None)


async def _prune(runner: "RunnerBoundaries") -> None:
    """Drop, once an hour, the entries of chats that were inactive for long."""
    now = runner.clock.time()
    if not prune_due(now, runner._last_session_store_prune_ts):
        return
    runner._last_session_store_prune_ts = now
    days = runner.config.session_store_max_age_days
    if days > 0:
        await runner._aside(runner.session_store.prune_old_entries, days)
