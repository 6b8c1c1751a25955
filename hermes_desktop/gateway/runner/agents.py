"""Agents that are kept between the turns of their chats, and their release."""

import contextlib
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.state import RunnerState
from hermes_desktop.gateway.turns import agent_cache
from hermes_desktop.gateway.turns.agent_cache import (
    PENDING,
    CacheEntry,
    close_agents,
    release_agent,
)

log = logging.getLogger(__name__)

CLEANUP_S = 30.0


class AgentCache:
    """The agent cache of a runner. Unless stated otherwise, methods may run on any thread.

    Args:
        remove: Removes the agent of a chat; usually :meth:`remove`.
        close_agent: Closes an agent that is not used again; blocks.
    """

    def __init__(
        self,
        state: RunnerState,
        chats: Chats,
        *,
        remove: Callable[[str], None],
        close_agent: Callable[[Any], None],
    ) -> None:
        self._state = state
        self._chats = chats
        self._remove = remove
        self._close_agent = close_agent

    def guard(self) -> contextlib.AbstractContextManager[Any]:
        """Return the lock of the agent cache; a null context where there is none."""
        return self._state.agent_cache_lock or contextlib.nullcontext()

    def get(self, session_key: str) -> CacheEntry | None:
        """Return the entry of a chat."""
        with self.guard():
            return self._chats.peek(session_key).cached_agent

    def put(self, session_key: str, entry: CacheEntry) -> None:
        """Keep an agent whose turn has just ended."""
        chat = self._chats[session_key]
        with self.guard():
            chat.cached_agent = entry
            chat.agent_used_at = self._state.clock.monotonic()

    def forget(self, session_key: str) -> None:
        """Drop the chat's agent and entry after its session row was deleted."""
        self.evict(session_key)
        self._state.session_store.forget(session_key)

    def evict(self, session_key: str) -> None:
        """Evict the cached agent of a chat; its session may be resumed with another agent."""
        self._remove(session_key)

    def remove(self, session_key: str) -> None:
        """Remove the entry of a chat and release its agent; see :meth:`evict`."""
        chat = self._chats.peek(session_key)
        with self.guard():
            entry, chat.cached_agent = chat.cached_agent, None
            chat.agent_used_at = None
        if entry is not None:
            self.release(entry[0])

    def release(self, agent: Any) -> None:
        """Release an agent's clients on a worker thread, because that may take a while."""
        # The workers are closed; the clients end with the process.
        with contextlib.suppress(RuntimeError):
            self._state.side_workers.submit(release_agent, agent)

    def close_soon(self, agent: Any) -> None:
        """Close an agent on a worker thread, because that may take a while."""
        # The workers are closed: the agent ends with the process.
        with contextlib.suppress(RuntimeError):
            self._state.side_workers.submit(close_agents, [(agent,)])

    def sweep(self) -> int:
        """Evict agents above the limit and those long unused; return their number."""
        now = self._state.clock.monotonic()
        with self.guard():
            kept = [each for each in self._chats.items() if each[1].cached_agent is not None]
            used = {key: chat.agent_used_at or now for key, chat in kept}
            busy = {key for key, chat in kept if chat.agent is not None}
            keys = agent_cache.surplus(sorted(used, key=used.__getitem__), used, busy, now)
        for session_key in keys:
            self.evict(session_key)
        return len(keys)

    async def refresh_mark(self, session_key: str, session_id: str) -> None:
        """Mark the current rows of state.db as seen, after rows were written on an agent's behalf.

        Does nothing for a session other than the entry's, for a deleted row and when the database
        is not available. On the loop.
        """
        session_db = self._state.session_db
        if session_db is None or not session_id:
            return
        try:
            live = await session_db.session_mark(session_id)
        except HermesError as error:
            log.warning("The baseline of %s stays as it is: %s", session_id, error)
            return
        chat = self._chats.peek(session_key)
        with self.guard():
            if chat.cached_agent is not None and live is not None:
                chat.cached_agent = agent_cache.with_mark(chat.cached_agent, session_id, live)

    # Closing, on the loop

    async def retire(self, session_key: str) -> None:
        """Close the cached agent of a chat, off the loop and with a time-out."""
        cached = self.get(session_key)
        if cached is not None and cached[0] is not PENDING:
            await self._clean_up(cached[0])
        self.evict(session_key)

    async def _clean_up(self, agent: Any) -> None:
        try:
            await self._state.side_workers.run_within(CLEANUP_S, partial(self._close_agent, agent))
        except TimeoutError:
            log.warning("An agent did not close in time and is left behind")
        except RuntimeError:
            log.debug("The workers are closed; the agent ends with them", exc_info=True)

    def take_all(self, running: Iterable[Any]) -> list[CacheEntry]:
        """Empty the cache; return the entries of all agents, the given running ones included."""
        with self.guard():
            cached = self._chats.cached_agents
            agents = [entry[0] for entry in cached.values()]
            cached.clear()
        agents += [each for each in running if all(each is not one for one in agents)]
        return [(agent,) for agent in agents]
