"""Agents cached between the turns of a chat, with detection of foreign writes.

Another process may append to, rewind or rewrite the session that a cached agent has in memory.
Therefore an entry records what the agent has seen, and before each turn this is compared with the
current state.db. Entries are tuples of two to five fields; older shapes record less and are
protected less.
"""

import enum
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from hermes_desktop.state.records.records import SessionMark

MAX_AGENTS = 128
IDLE_S = 3600.0

NEVER_SEEN: Final = -1
"""A count that no row can have: the next turn reads the session again."""


class _Pending:
    """Placeholder for an agent that is being created."""

    def __repr__(self) -> str:
        return "<agent pending>"


PENDING: Final = _Pending()

CacheEntry = tuple[Any, ...]
"""``(agent, signature[, message_count[, session_id[, extra]]])``."""


class CachedAgent(NamedTuple):
    """A cached agent and what it has seen.

    Attributes:
        agent: The agent, or :data:`PENDING`.
        signature: What it was created from; a different one requires a different agent.
        message_count: The ``sessions.message_count`` that it has seen, None when nothing was stored
            yet.
        session_id: The session that it has in memory, None in entries that do not record it.
        extra: The :class:`SessionMark` that the count is part of, None for the count alone.
    """

    agent: Any
    signature: str
    message_count: int | None = None
    session_id: str | None = None
    extra: SessionMark | None = None


class Reuse(enum.Enum):
    """How to reuse a cached agent for the next turn."""

    BUILD = "build"
    """There is no suitable agent: create one that reads the session."""
    KEEP = "keep"
    """It knows the whole session: continue, repeating the bytes of the last request."""
    RELOAD = "reload"
    """Same agent, but it has to read the session first."""
    GONE = "gone"
    """The session that it knows was deleted."""


def decide(
    cached: CacheEntry | None, signature: str, session_id: str, live: SessionMark | None
) -> Reuse:
    """Decide how to reuse a cached agent.

    Args:
        cached: The entry of the chat, in any of its shapes.
        signature: What an agent would be created from now.
        session_id: The session of the coming turn.
        live: The session's current mark, None when there is no such row.
    """
    if cached is None:
        return Reuse.BUILD
    known = CachedAgent(*cached)
    if known.agent is PENDING or known.signature != signature:
        return Reuse.BUILD
    if len(cached) <= CachedAgent._fields.index("message_count"):
        return Reuse.KEEP  # the oldest shape is not protected
    if known.session_id is not None and known.session_id != session_id:
        return Reuse.RELOAD  # counts of different sessions are not comparable
    if live is None:
        vanished = known.session_id is not None and known.message_count is not None
        return Reuse.GONE if vanished else Reuse.KEEP
    return Reuse.KEEP if _has_seen(known, live) else Reuse.RELOAD


def _has_seen(known: CachedAgent, live: SessionMark) -> bool:
    if known.extra is not None:
        return known.extra == live
    return known.message_count is None or known.message_count == live.message_count


def with_mark(cached: CacheEntry, session_id: str, live: SessionMark) -> CacheEntry:
    """Return the entry with a new baseline and the same length.

    An entry of another session, one without a baseline and one whose agent is being created are
    returned unchanged.
    """
    known = CachedAgent(*cached)
    counted = CachedAgent._fields.index("message_count") + 1
    if len(cached) < counted or known.agent is PENDING:
        return cached
    if known.session_id is not None and known.session_id != session_id:
        return cached
    updated = known._replace(message_count=live.message_count)
    if len(cached) == len(CachedAgent._fields):
        return updated._replace(extra=live)
    return tuple(updated)[: len(cached)]


def surplus(
    cache: Collection[str],
    last_used: Mapping[str, float],
    busy: Collection[str],
    now: float,
) -> list[str]:
    """Return the keys of agents to evict: the oldest above the limit, and those long idle.

    Args:
        cache: The keys of all entries, the longest unused first.
        last_used: When each was used last, monotonic seconds.
        busy: Keys with a running turn; never part of the result.
        now: Monotonic seconds.
    """
    oldest = list(cache)[: max(0, len(cache) - MAX_AGENTS)]
    idle = [key for key in cache if now - last_used.get(key, now) > IDLE_S]
    return [key for key in dict.fromkeys(oldest + idle) if key not in busy]
