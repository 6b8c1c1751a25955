"""The part of the runner that caches agents between turns and releases them."""

import contextlib
import logging
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.runner.runner_state import RunnerState
from hermes_desktop.gateway.turns import agent_cache
from hermes_desktop.gateway.turns.agent_preparation import release_agent

log = logging.getLogger(__name__)


class RunnerAgents(RunnerState):
    """The agent cache of a runner. Unless stated otherwise, methods may run on any thread."""

    def _cache_guard(self) -> contextlib.AbstractContextManager[Any]:
        """Return the lock of the agent cache; a null context where there is none."""
        return self._agent_cache_lock or contextlib.nullcontext()

    def _forget_conversation(self, session_key: str) -> None:
        """Drop the chat's agent and entry after its session row was deleted."""
        self._evict_cached_agent(session_key)
        self.session_store.forget(session_key)

    def _evict_cached_agent(self, session_key: str) -> None:
        """Evict the cached agent of a chat; its session may be resumed with another agent."""
        with self._cache_guard():
            entry = self._agent_cache.pop(session_key, None)
            self._agent_last_used.pop(session_key, None)
        if entry is not None:
            self._release_agent(entry[0])

    def _release_agent(self, agent: Any) -> None:
        """Release an agent's clients on a worker thread, because that may take a while."""
        # The workers are closed; the clients end with the process.
        with contextlib.suppress(RuntimeError):
            self._side_workers.submit(release_agent, agent)

    def _sweep_idle_cached_agents(self) -> int:
        """Evict agents above the limit and those long unused; return their number."""
        now = self.clock.monotonic()
        with self._cache_guard():
            keys = agent_cache.surplus(
                self._agent_cache, self._agent_last_used, set(self._running_agents), now
            )
        for session_key in keys:
            self._evict_cached_agent(session_key)
        return len(keys)

    async def _refresh_agent_cache_message_count(self, session_key: str, session_id: str) -> None:
        """Mark the current rows of state.db as seen, after rows were written on an agent's behalf.

        Does nothing for a session other than the entry's, for a deleted row and when the database
        is not available.
        """
        if self._session_db is None or not session_id:
            return
        try:
            live = await self._session_db.session_mark(session_id)
        except HermesError as error:
            log.warning("The baseline of %s stays as it is: %s", session_id, error)
            return
        with self._cache_guard():
            cached = self._agent_cache.get(session_key)
            if cached is not None and live is not None:
                self._agent_cache[session_key] = agent_cache.with_mark(cached, session_id, live)
