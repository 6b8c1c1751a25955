"""The part of the runner that keeps agents between turns and lets them go."""

import contextlib
import logging
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.runner.runner_state import RunnerState
from hermes_desktop.gateway.turns import agent_cache
from hermes_desktop.gateway.turns.agent_preparation import release_agent

log = logging.getLogger(__name__)


class RunnerAgents(RunnerState):
    """The kept agents of a runner. Unless they say else, the methods may run on any thread."""

    def _cache_guard(self) -> contextlib.AbstractContextManager[Any]:
        """The lock of the kept agents; nothing where there is none."""
        return self._agent_cache_lock or contextlib.nullcontext()

    def _forget_conversation(self, session_key: str) -> None:
        """The row is gone: neither the agent that knows it nor the chat's entry is of use."""
        self._evict_cached_agent(session_key)
        self.session_store.forget(session_key)

    def _evict_cached_agent(self, session_key: str) -> None:
        """Let the kept agent of a chat go; its conversation may be resumed with another."""
        with self._cache_guard():
            entry = self._agent_cache.pop(session_key, None)
            self._agent_last_used.pop(session_key, None)
        if entry is not None:
            self._release_agent(entry[0])

    def _release_agent(self, agent: Any) -> None:
        """Let an agent's clients go, on a worker: that may take a while."""
        with contextlib.suppress(RuntimeError):  # the workers are closed, the clients go with us
            self._side_workers.submit(release_agent, agent)

    def _sweep_idle_cached_agents(self) -> int:
        """Let go of agents above the limit and of those long unused; how many went."""
        now = self.clock.monotonic()
        with self._cache_guard():
            keys = agent_cache.surplus(
                self._agent_cache, self._agent_last_used, set(self._running_agents), now
            )
        for session_key in keys:
            self._evict_cached_agent(session_key)
        return len(keys)

    async def _refresh_agent_cache_message_count(self, session_key: str, session_id: str) -> None:
        """Take what stands in state.db now as seen, after rows were written on an agent's behalf.

        Nothing happens for another conversation than the entry's, for a row that is gone and for
        a database that cannot be asked.
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
