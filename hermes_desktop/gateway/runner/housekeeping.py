"""Housekeeping of a runner: supervised background work, expiry of sessions, unused agents."""

# ruff: noqa: SLF001 - the names of the session store are pinned, see session

import asyncio
import logging
from collections.abc import Awaitable, Callable

from hermes_desktop.core.clock import Clock
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.runner.boundaries import Boundaries
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.state import RunnerState
from hermes_desktop.gateway.session import SessionEntry
from hermes_desktop.gateway.sessions.session_expiry import prune_due

log = logging.getLogger(__name__)

MAX_RAPID_FAILURES = 5
HEALTHY_S = 300.0
_LONGEST_PAUSE_S = 60.0

FIRST_LOOK_S = 60.0
UNUSED_LOOK_S = 600.0
MAX_FAILURES = 3


async def supervised(
    name: str,
    work: Callable[[], Awaitable[None]],
    clock: Clock,
    *,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Run a piece of work; when it raises, run it again after a growing pause.

    A return ends the supervision. After :data:`MAX_RAPID_FAILURES` in a row the work is not
    retried; a run of :data:`HEALTHY_S` resets the count of failures.

    Args:
        name: Its name in the log.
        work: Starts the work again with each call.
        clock: Measures how long it ran without failure.
        pause: Waits for the given number of seconds.
    """
    failures = 0
    while True:
        began = clock.monotonic()
        try:
            await work()
        except Exception:
            if clock.monotonic() - began >= HEALTHY_S:
                failures = 0
            failures += 1
            if failures >= MAX_RAPID_FAILURES:
                log.exception("%s failed %d times and is not retried", name, failures)
                return
            log.exception("%s failed and is started again", name)
        else:
            return
        await pause(min(_LONGEST_PAUSE_S, 2.0**failures))


class Housekeeping:
    """Expires sessions, evicts unused agents, prunes old entries. On the event loop.

    Args:
        sweep: Evicts unused agents.
    """

    def __init__(
        self,
        state: RunnerState,
        chats: Chats,
        boundaries: Boundaries,
        *,
        sweep: Callable[[], int],
    ) -> None:
        self._state = state
        self._chats = chats
        self._boundaries = boundaries
        self._sweep = sweep
        self._expiry_failures: dict[str, int] = {}
        """By session id: how often in a row its expiry could not be processed."""

    async def evict_unused_agents(self) -> None:
        """Evict unused agents: all the housekeeping of a private runner (no chat expires)."""
        while True:
            await asyncio.sleep(UNUSED_LOOK_S)
            self._sweep()

    async def watch_expiry(self, interval: float) -> None:
        """Check periodically until the runner stops.

        Args:
            interval: Seconds between two checks.
        """
        await asyncio.sleep(FIRST_LOOK_S)
        while self._state.running:
            try:
                await self.check()
            except Exception:  # the next check may succeed
                log.exception("Expired sessions could not be processed")
            if interval > 0:
                await asyncio.sleep(interval)

    async def check(self) -> None:
        """Check once. A session with a running turn, of any chat, is left for the next check."""
        for session_entry in await self._state.aside(self._expired):
            busy = self._chats.peek(session_entry.session_key).is_busy
            if not busy and not self._state.turn_leases.is_held(session_entry.session_id):
                await self._expire(session_entry)
        self._sweep()
        await self._prune()

    def _expired(self) -> list[SessionEntry]:
        """Return the chats whose sessions have expired and were not processed. Blocks."""
        store = self._state.session_store
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

    async def _expire(self, session_entry: SessionEntry) -> None:
        """Process one; after the third failure in a row it is only marked as processed."""
        session_id, key = session_entry.session_id, session_entry.session_key
        store = self._state.session_store
        # A message that arrives now waits until this is done.
        async with self._state.turn_order.hold(key):
            present = store._entries.get(key)
            if present is not session_entry or not store._is_session_expired(session_entry):
                return
            try:
                await self._boundaries.expire(session_entry)
            except Exception:
                # One chat must not keep the others from being checked.
                failures = self._expiry_failures[session_id] = (
                    self._expiry_failures.get(session_id, 0) + 1
                )
                log.exception("The expiry of %s could not be processed (%d)", session_id, failures)
                if failures < MAX_FAILURES:
                    return
                await self._state.aside(
                    lambda: store.set_expiry_finalized(session_entry, clear_model_override=False)
                )
            self._expiry_failures.pop(session_id, None)

    async def _prune(self) -> None:
        """Drop, once an hour, the entries of chats that were inactive for long."""
        now = self._state.clock.time()
        if not prune_due(now, self._state.last_session_store_prune_ts):
            return
        self._state.last_session_store_prune_ts = now
        days = self._state.config.session_store_max_age_days
        if days > 0:
            await self._state.aside(self._state.session_store.prune_old_entries, days)
